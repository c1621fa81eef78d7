//===- RuleInterface.cpp - The JSON form of a rule's interface --------------------------------===//

#include "runtime/base/RuleInterface.h"

#include "runtime/base/DType.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace updraft::runtime;
using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t formatVersion = 1;
// Far above any rule; bounds what a damaged file can make the runtime allocate.
constexpr uint64_t maxRowScalars = 1 << 16;

/// Reads members with their types checked, and remembers the first that does not fit.
class Reader {
public:
  bool failed() const { return !problem.empty(); }
  const std::string &message() const { return problem; }
  void fail(std::string text) {
    if (problem.empty())
      problem = std::move(text);
  }

  const Json *member(const Json &object, const char *key) {
    if (!object.is_object()) {
      fail("an object was expected");
      return nullptr;
    }
    auto found = object.find(key);
    if (found == object.end()) {
      fail(fmt::format("`{}` is missing", key));
      return nullptr;
    }
    return &*found;
  }

  std::string text(const Json &object, const char *key) {
    const Json *value = member(object, key);
    if (value && value->is_string())
      return value->get<std::string>();
    fail(fmt::format("`{}` is not a string", key));
    return {};
  }

  upd_dtype dtype(const Json &object, const char *key) {
    const std::string name = text(object, key);
    if (auto parsed = parseDType(name))
      return *parsed;
    fail(fmt::format("`{}` is not a storage type: `{}`", key, name));
    return UPD_F32;
  }

  double number(const Json &object, const char *key) {
    const Json *value = member(object, key);
    if (value && value->is_number())
      return value->get<double>();
    // JSON has no infinities.
    if (value && (*value == "inf" || *value == "-inf"))
      return *value == "inf" ? INFINITY : -INFINITY;
    fail(fmt::format("`{}` is not a number", key));
    return 0;
  }

  uint64_t count(const Json &object, const char *key) {
    const Json *value = member(object, key);
    if (value && value->is_number_unsigned())
      return value->get<uint64_t>();
    fail(fmt::format("`{}` is not a count", key));
    return 0;
  }

  const Json &array(const Json &object, const char *key) {
    static const Json empty = Json::array();
    const Json *value = member(object, key);
    if (value && value->is_array())
      return *value;
    fail(fmt::format("`{}` is not an array", key));
    return empty;
  }

  std::vector<uint32_t> streams(const Json &object, const char *key, size_t streamCount) {
    std::vector<uint32_t> result;
    for (const Json &value : array(object, key)) {
      if (!value.is_number_unsigned() || value.get<uint64_t>() >= streamCount) {
        fail(fmt::format("`{}` holds what is not the index of a stream", key));
        return {};
      }
      result.push_back(value.get<uint32_t>());
    }
    return result;
  }

private:
  std::string problem;
};

void checkUnique(Reader &reader, const char *what, const std::string &name,
                 std::set<std::string> &seen) {
  if (name.empty())
    reader.fail(fmt::format("a {} has no name", what));
  else if (!seen.insert(name).second)
    reader.fail(fmt::format("{} `{}` appears twice", what, name));
}

void readStatics(Reader &reader, const Json &json, RuleInterface &result) {
  const Json *statics = reader.member(json, "statics");
  if (!statics || !statics->is_object())
    return reader.fail("`statics` is not an object");
  for (const auto &[flag, value] : statics->items()) {
    if (!value.is_string())
      return reader.fail(fmt::format("the value of static `{}` is not a string", flag));
    result.statics.emplace_back(flag, value.get<std::string>());
  }
}

RuleInterface read(Reader &reader, const Json &json) {
  RuleInterface result;
  if (uint64_t version = reader.count(json, "format"); !reader.failed() && version != formatVersion)
    reader.fail(fmt::format("format {} is not supported, only {}; compile the rule again", version,
                            formatVersion));
  result.name = reader.text(json, "name");
  if (result.name.empty())
    reader.fail("`name` is empty");
  result.compute = reader.dtype(json, "compute");
  if (result.compute != UPD_F32 && result.compute != UPD_F64)
    reader.fail("`compute` is neither `f32` nor `f64`");
  result.numerics = reader.text(json, "numerics");
  readStatics(reader, json, result);

  std::set<std::string> hyperNames, stateNames;
  for (const Json &hyper : reader.array(json, "hypers")) {
    result.hypers.push_back({reader.text(hyper, "name"), reader.number(hyper, "default")});
    checkUnique(reader, "hyperparameter", result.hypers.back().name, hyperNames);
  }
  result.param = reader.dtype(json, "param");
  result.grad = reader.dtype(json, "grad");
  for (const Json &state : reader.array(json, "states")) {
    result.states.push_back({reader.text(state, "name"), reader.dtype(state, "dtype")});
    checkUnique(reader, "state", result.states.back().name, stateNames);
  }
  for (const Json &message : reader.array(json, "messages")) {
    if (!message.is_string())
      reader.fail("`messages` holds what is not a string");
    else
      result.messages.push_back(message.get<std::string>());
  }
  const uint64_t rowScalars = reader.count(json, "row_scalars");
  if (rowScalars < 1 || rowScalars > maxRowScalars)
    reader.fail(fmt::format("`row_scalars` is {}, not from 1 to {}", rowScalars, maxRowScalars));
  result.rowScalars = static_cast<uint32_t>(rowScalars);
  for (const Json &pass : reader.array(json, "passes")) {
    result.passes.push_back({reader.streams(pass, "reads", result.streamCount()),
                             reader.streams(pass, "writes", result.streamCount())});
    for (uint32_t index : result.passes.back().writes)
      if (index == StreamIndex::Grad)
        reader.fail("a pass writes the gradient");
  }
  return result;
}

} // namespace

Status RuleInterface::parse(std::string_view text, RuleInterface &result) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return invalidArgument("interface of a compiled rule: not JSON");
  Reader reader;
  RuleInterface parsed = read(reader, json);
  if (reader.failed())
    return invalidArgument(fmt::format("interface of a compiled rule: {}", reader.message()));
  result = std::move(parsed);
  return {};
}
