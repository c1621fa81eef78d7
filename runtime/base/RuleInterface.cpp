//===- RuleInterface.cpp - The JSON form of a rule's interface --------------------------------===//

#include "runtime/base/RuleInterface.h"

#include "runtime/base/DType.h"
#include "runtime/base/InterfaceReader.h"

#include <fmt/format.h>
#include <set>

using namespace updraft::runtime;
using Json = InterfaceReader::Json;

static constexpr uint32_t formatVersion = 3;

namespace {

void checkUnique(InterfaceReader &reader, const char *what, const std::string &name,
                 std::set<std::string> &seen) {
  if (name.empty())
    reader.fail(fmt::format("a {} has no name", what));
  else if (!seen.insert(name).second)
    reader.fail(fmt::format("{} `{}` appears twice", what, name));
}

void readStatics(InterfaceReader &reader, const Json &json, RuleInterface &result) {
  const Json *statics = reader.member(json, "statics");
  if (!statics || !statics->is_object())
    return reader.fail("`statics` is not an object");
  for (const auto &[flag, value] : statics->items()) {
    if (!value.is_string())
      return reader.fail(fmt::format("the value of static `{}` is not a string", flag));
    result.statics.emplace_back(flag, value.get<std::string>());
  }
}

StateInterface readState(InterfaceReader &reader, const Json &json) {
  static constexpr const char *classes[] = {"any", "vector", "matrix"};
  StateInterface state{reader.text(json, "name"), reader.stateDType(json, "dtype"),
                       reader.extent(json, false),
                       static_cast<TensorClass>(reader.word(json, "for", classes, false)),
                       reader.flag(json, "from_step", false)};
  if (state.over == Extent::Batch)
    reader.fail(fmt::format("state `{}` is over a batch", state.name));
  if (isBlocked(state.dtype) && state.over != Extent::Element)
    reader.fail(fmt::format("state `{}` has blocks, but is not over elements", state.name));
  return state;
}

Extent readDependence(InterfaceReader &reader, const Json &json) {
  static constexpr const char *words[] = {"element", "tensor", "group"};
  static constexpr Extent extents[] = {Extent::Element, Extent::Tensor, Extent::Group};
  return extents[reader.word(json, "depends_on", words, false)];
}

RuleInterface read(InterfaceReader &reader, const Json &json) {
  RuleInterface result;
  const uint32_t version = reader.count(json, "format", ~uint32_t(0));
  if (version != formatVersion)
    reader.fail(fmt::format("format {} is not supported, only {}; compile the rule again", version,
                            formatVersion));
  result.name = reader.name(json, "name");
  result.compute = reader.dtype(json, "compute");
  if (result.compute != UPD_F32 && result.compute != UPD_F64)
    reader.fail("`compute` is neither `f32` nor `f64`");
  result.numerics = reader.text(json, "numerics");
  if (json.contains("gpu"))
    result.gpu = reader.text(json, "gpu");
  readStatics(reader, json, result);

  std::set<std::string> hyperNames, stateNames;
  for (const Json &hyper : reader.array(json, "hypers")) {
    result.hypers.push_back({reader.text(hyper, "name"), reader.number(hyper, "default")});
    checkUnique(reader, "hyperparameter", result.hypers.back().name, hyperNames);
  }
  result.param = reader.dtype(json, "param");
  result.grad = reader.dtype(json, "grad");
  for (const Json &state : reader.array(json, "states")) {
    result.states.push_back(readState(reader, state));
    checkUnique(reader, "state", result.states.back().name, stateNames);
  }
  result.dependsOn = readDependence(reader, json);
  for (const Json &message : reader.array(json, "messages")) {
    if (!message.is_string())
      reader.fail("`messages` holds what is not a string");
    else
      result.messages.push_back(message.get<std::string>());
  }
  for (const Json &plan : reader.array(json, "plans"))
    result.plans.push_back(readPlan(reader, plan, result));
  checkPlans(reader, result);
  return result;
}

} // namespace

std::vector<StreamInterface> RuleInterface::streamsOf(const PlanInterface &plan) const {
  std::vector<StreamInterface> result = {{param, Extent::Element}, {grad, Extent::Element}};
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].isOf(plan.tensors) && !isScalar(states[i].over))
      result.push_back({states[i].dtype, states[i].over, static_cast<uint32_t>(i)});
  for (size_t i = 0, count = result.size(); i < count; ++i)
    if (isBlocked(result[i].dtype)) {
      result[i].scales = static_cast<uint32_t>(result.size());
      result.push_back({UPD_F32, Extent::Element});
    }
  for (const TemporaryInterface &temporary : plan.temporaries)
    result.push_back({temporary.dtype, temporary.over});
  return result;
}

std::vector<uint32_t> RuleInterface::scalarStatesOf(const PlanInterface &plan) const {
  std::vector<uint32_t> result;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].isOf(plan.tensors) && isScalar(states[i].over))
      result.push_back(static_cast<uint32_t>(i));
  return result;
}

Status RuleInterface::parse(std::string_view text, RuleInterface &result) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return invalidArgument("interface of a compiled rule: not JSON");
  InterfaceReader reader;
  RuleInterface parsed = read(reader, json);
  if (reader.failed())
    return invalidArgument(fmt::format("interface of a compiled rule: {}", reader.message()));
  result = std::move(parsed);
  return {};
}
