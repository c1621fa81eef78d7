//===- RuleSource.cpp - The rules that clients send -------------------------------------------===//

#include "RuleSource.h"

#include "runtime/dist/ImportedNames.h"
#include "runtime/server/Refusal.h"
#include "updraft-c/compiler.h"
#include "updraft-c/package_format.h"

#include <cstring>
#include <fmt/format.h>

using namespace updraft;
using server::Reason;
using server::Refusal;

static constexpr size_t longestSource = size_t(64) << 10;

static bool isPackage(const std::string &source) {
  const size_t length = std::strlen(UPD_PACKAGE_MAGIC);
  return source.compare(0, length, UPD_PACKAGE_MAGIC) == 0;
}

server::RulePointer worker::compileSource(const server::RuleRequest &request) {
  if (isPackage(request.source))
    throw Refusal(Reason::FailedPrecondition,
                  "the rule is a package, which contains machine code, and this worker takes none; "
                  "send the rule's text");
  if (request.source.size() > longestSource)
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("the rule's text has {} bytes; a worker takes at most {}",
                              request.source.size(), longestSource));
  if (const auto names = dist::importedNames(request.source); !names.empty())
    throw Refusal(
        Reason::InvalidArgument,
        fmt::format("the rule imports `{}`, and a worker reads no files for a client; put "
                    "what the rule needs into its text",
                    names.front()));
  std::vector<upd_setting> settings;
  for (const auto &[name, value] : request.settings)
    settings.push_back({name.c_str(), value.c_str()});
  std::vector<upd_storage> storage;
  for (const auto &[name, type] : request.storage)
    storage.push_back({name.c_str(), type.c_str()});
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.rule = request.rule.empty() ? nullptr : request.rule.c_str();
  options.settings = settings.data();
  options.setting_count = settings.size();
  options.storage = storage.data();
  options.storage_count = storage.size();
  options.numerics = request.numerics.empty() ? nullptr : request.numerics.c_str();
  upd_rule *rule = nullptr;
  if (const upd_status status =
          upd_compile(request.source.data(), request.source.size(), nullptr, &options, &rule);
      status != UPD_OK)
    throw Refusal(status == UPD_INTERNAL_ERROR ? Reason::Internal : Reason::InvalidArgument,
                  upd_last_error());
  return {rule, upd_rule_release};
}
