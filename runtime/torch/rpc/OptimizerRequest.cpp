//===- OptimizerRequest.cpp - A client's request for an optimizer -----------------------------===//

#include "runtime/torch/rpc/OptimizerRequest.h"

#include "runtime/base/DType.h"
#include "runtime/torch/rpc/JsonDamage.h"

#include <c10/util/Exception.h>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

using namespace updraft::torch_adapter;
namespace runtime = updraft::runtime;
// Keeps the order of hyperparameters.
using Json = nlohmann::ordered_json;

static upd_dtype dtypeOf(const std::string &text) {
  const std::optional<upd_dtype> dtype = runtime::parseDType(text);
  TORCH_CHECK_VALUE(dtype, "there is no element type `", text, "`");
  return *dtype;
}

static double numberOf(const std::string &text) {
  char *end;
  const double value = std::strtod(text.c_str(), &end);
  TORCH_CHECK_VALUE(!text.empty() && *end == 0, "expected a number, got `", text, "`");
  return value;
}

/// Reads hexadecimal digits.
static std::string bytesOf(const std::string &text) {
  TORCH_CHECK_VALUE(text.size() % 2 == 0, "the package in the request for an optimizer is damaged");
  std::string bytes(text.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char *digits = text.data() + 2 * i;
    uint8_t value = 0;
    const auto parsed = std::from_chars(digits, digits + 2, value, 16);
    TORCH_CHECK_VALUE(parsed.ec == std::errc() && parsed.ptr == digits + 2,
                      "the package in the request for an optimizer is damaged");
    bytes[i] = static_cast<char>(value);
  }
  return bytes;
}

static Settings parseSettings(const Json &json) {
  Settings settings;
  for (const auto &[name, value] : json.items())
    settings.emplace_back(name, value.get<std::string>());
  return settings;
}

static GroupRequest parseGroup(const Json &json) {
  GroupRequest group;
  json.at("params").get_to(group.params);
  json.at("numbers").get_to(group.numbers);
  json.at("owners").get_to(group.owners);
  for (const auto &[dtype, choices] : json.at("choices").items())
    for (const Json &choice : choices)
      group.choices[dtypeOf(dtype)].push_back(parseSettings(choice));
  for (const auto &[dtype, values] : json.at("hypers").items()) {
    auto &hypers = group.hypers[dtypeOf(dtype)]; // a rule may have none
    for (const auto &[name, value] : values.items())
      hypers.emplace_back(name, numberOf(value.get<std::string>()));
  }
  json.at("source").get_to(group.source);
  json.at("sparse_refusal").get_to(group.sparseRefusal);
  json.at("dense_refusal").get_to(group.denseRefusal);
  json.at("sparse_as_dense").get_to(group.sparseAsDense);
  json.at("seed").get_to(group.seed);
  TORCH_CHECK_VALUE(group.params.size() == group.numbers.size(), "a group has ",
                    group.params.size(), " parameters and ", group.numbers.size(), " numbers");
  return group;
}

OptimizerRequest OptimizerRequest::parse(const std::string &text) {
  try {
    const Json json = Json::parse(text);
    OptimizerRequest request;
    RuleChoices &rule = request.rule;
    json.at("filename").get_to(rule.filename);
    json.at("rule").get_to(rule.rule);
    json.at("numerics").get_to(rule.numerics);
    rule.package = bytesOf(json.at("package").get_ref<const std::string &>());
    for (const auto &[name, type] : json.at("storage").items())
      rule.storage.emplace_back(name, type.get<std::string>());
    for (const auto &[name, text] : json.at("files").items())
      rule.files.emplace_back(name, text.get<std::string>());
    json.at("complex_refusal").get_to(request.complexRefusal);
    if (const Json &replaces = json.at("replaces"); !replaces.is_null())
      request.replaces = replaces.get<int64_t>();
    json.at("count_versions").get_to(request.countVersions);
    for (const Json &group : json.at("groups"))
      request.groups.push_back(parseGroup(group));
    return request;
  } catch (const nlohmann::json::exception &error) {
    TORCH_CHECK_VALUE(false, "the request for an optimizer is damaged: ", damageOf(error));
    __builtin_unreachable();
  }
}

std::vector<std::string> OptimizerRequest::paramNames() const {
  std::map<int64_t, int64_t> numbers; // by position
  for (const GroupRequest &group : groups)
    for (size_t i = 0; i < group.params.size(); ++i)
      numbers.emplace(group.params[i], group.numbers[i]);
  std::vector<std::string> names;
  names.reserve(numbers.size());
  for (const auto &[place, number] : numbers)
    names.push_back("parameter " + std::to_string(number));
  return names;
}
