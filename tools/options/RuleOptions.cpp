//===- RuleOptions.cpp - Options of all tools that take a rule --------------------------------===//

#include "tools/options/RuleOptions.h"

#include "tools/options/NameValue.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace updraft;

void RuleOptions::addTo(CLI::App &app) {
  addWithoutStorage(app);
  addStorage(app, storage);
}

void RuleOptions::addWithoutStorage(CLI::App &app) {
  app.add_option("FILE", file, "Rule file (.upd)");
  app.add_option("--rule", rule, "The rule to use if the file has several");
  addNameValues(app, "--set", settings,
                "name=value: sets a static flag or the default of a hyperparameter", "NAME=VALUE");
  app.add_option("--probe", probes,
                 "name=expression, or the name of a function: a number that steps report")
      ->type_name("PROBE")
      ->allow_extra_args(false);
  app.add_option("--numerics", numerics, "ieee, torch or fast: how arithmetic rounds")
      ->type_name("MODE")
      ->capture_default_str();
}

static llvm::Expected<std::pair<std::string, std::string>> split(llvm::StringRef option,
                                                                 llvm::StringRef text) {
  if (auto parts = splitNameValue(text))
    return std::move(*parts);
  return makeError(UPD_INVALID_ARGUMENT,
                   ("`" + option + " " + text + "` is not of the form name=value").str());
}

llvm::Expected<std::vector<std::pair<std::string, StorageType>>>
RuleOptions::parseStorage(llvm::ArrayRef<std::string> items) {
  std::vector<std::pair<std::string, StorageType>> storage;
  for (const std::string &text : items) {
    auto parts = split("--storage", text);
    if (!parts)
      return parts.takeError();
    std::optional<StorageType> type = parseStorageType(parts->second);
    if (!type)
      return makeError(UPD_INVALID_ARGUMENT, unknownStorageType(parts->second));
    storage.emplace_back(parts->first, *type);
  }
  return storage;
}

llvm::Expected<CompileRequest> RuleOptions::makeRequest(llvm::StringRef target) const {
  if (file.empty())
    return makeError(UPD_INVALID_ARGUMENT, "no rule file; give FILE.upd, or see --help");
  CompileRequest request;
  request.filename = file;
  request.rule.rule = rule;
  request.rule.numerics = numerics;
  request.rule.probes = probes;
  auto source = readRuleFile(file);
  if (!source)
    return source.takeError();
  request.source = std::move(*source);
  for (const std::string &text : settings) {
    auto setting = split("--set", text);
    if (!setting)
      return setting.takeError();
    request.rule.settings.push_back(std::move(*setting));
  }
  auto types = parseStorage(storage);
  if (!types)
    return types.takeError();
  request.rule.storage = std::move(*types);
  if (llvm::Error error = request.setTarget(target))
    return error;
  return request;
}

std::string updraft::describe(upd_status status, const std::string &message) {
  std::string text = status == UPD_COMPILE_ERROR ? message : "error: " + message;
  if (text.empty() || text.back() != '\n')
    text += '\n';
  return text;
}
