//===- RuleSource.cpp - The rules that clients send -------------------------------------------===//

#include "RuleSource.h"

#include "runtime/dist/ImportedNames.h"
#include "runtime/package/Machine.h"
#include "runtime/package/Package.h"
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
  // machines.
  request.targets = {package::Machine::host().target(rule.numerics() == "fast").name()};
  auto packed = packRule(request);
  if (!packed) {
    const auto [status, message] = takeStatus(packed.takeError());
    throw Refusal(status == UPD_INTERNAL_ERROR ? Reason::Internal : Reason::InvalidArgument,
                  message);
  }
  return std::move(*packed);
}
