//===- RuleSource.cpp - The rules that clients send -------------------------------------------===//

#include "RuleSource.h"

#include "runtime/dist/ImportedNames.h"
#include "runtime/package/Machine.h"
#include "runtime/package/Package.h"
#include "runtime/package/PackagedRule.h"
#include "runtime/server/Refusal.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/StorageType.h"
#include "updraft/Packager/Packager.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft;
using server::Reason;
using server::Refusal;

static constexpr size_t longestSource = size_t(64) << 10;

/// In the order of names, since a map of protobuf has none.
template <typename Map> static auto sorted(const Map &map) {
  std::vector<std::pair<std::string, std::string>> result(map.begin(), map.end());
  std::sort(result.begin(), result.end());
  return result;
}

void worker::checkSource(const v1::Rule &rule) {
  if (package::isPackage(rule.source()))
    throw Refusal(Reason::FailedPrecondition,
                  "the rule is a package, which contains machine code, and this worker takes none "
                  "without --package-key; send the rule's text");
  if (rule.source().size() > longestSource)
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("the rule's text has {} bytes; a worker takes at most {}",
                              rule.source().size(), longestSource));
  if (const auto names = dist::importedNames(rule.source()); !names.empty())
    throw Refusal(
        Reason::InvalidArgument,
        fmt::format("the rule imports `{}`, and a worker reads no files for a client; put "
                    "what the rule needs into its text",
                    names.front()));
}

static std::string packFor(const std::string &target, PackRequest &request) {
  request.targets = {target};
  auto packed = packRule(request);
  if (packed)
    return std::move(*packed);
  const auto [status, message] = takeStatus(packed.takeError());
  throw Refusal(status == UPD_INTERNAL_ERROR ? Reason::Internal : Reason::InvalidArgument, message);
}

static bool hasBF16Products(const std::string &bytes) {
  std::shared_ptr<const package::Package> opened;
  std::shared_ptr<const runtime::Kernels> kernels;
  return package::Package::open(bytes, "<rule>", opened).ok() &&
         package::loadKernels(*opened, opened->images().front(), kernels).ok() &&
         kernels->interface.hasBF16Products();
}

std::string worker::packSource(const v1::Rule &rule) {
  checkSource(rule);
  PackRequest request;
  request.rule.source = rule.source();
  request.rule.filename = "<rule>";
  request.rule.rule.rule = rule.name();
  request.rule.rule.settings = sorted(rule.settings());
  if (!rule.numerics().empty())
    request.rule.rule.numerics = rule.numerics();
  auto &storage = request.variants.emplace_back();
  for (const auto &[name, text] : sorted(rule.storage())) {
    const auto type = parseStorageType(text);
    if (!type)
      throw Refusal(Reason::InvalidArgument, unknownStorageType(text));
    storage.emplace_back(name, *type);
  }
  // Only bf16 products need instructions for bf16, so stores of other rules move to more
  // machines, and these rules have SVE.
  const package::Machine &host = package::Machine::host();
  const std::string plain = host.target(false).name(), withBF16 = host.target(true).name();
  std::string packed = packFor(plain, request);
  return plain != withBF16 && hasBF16Products(packed) ? packFor(withBF16, request) : packed;
}
