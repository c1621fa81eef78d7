//===- InterfaceJson.cpp - The interface of a rule as JSON ------------------------------------===//
// docs/architecture.md describes the members.

#include "runtime/base/DType.h"
#include "runtime/base/RuleInterface.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace updraft::runtime;
using nlohmann::ordered_json;

static const char *nameOfClass(TensorClass tensors) {
  return tensors == TensorClass::Any ? "any" : tensors == TensorClass::Vector ? "vector" : "matrix";
}

static ordered_json jsonOf(const HyperInterface &hyper) {
  ordered_json value = hyper.defaultValue;
  if (std::isinf(hyper.defaultValue)) // JSON has no infinity
    value = hyper.defaultValue < 0 ? "-inf" : "inf";
  return {{"name", hyper.name}, {"default", std::move(value)}};
}

static ordered_json jsonOf(const StateInterface &state) {
  ordered_json json{{"name", state.name}, {"dtype", nameOf(state.dtype)}};
  if (state.over != Extent::Element)
    json["over"] = nameOf(state.over);
  if (state.tensors != TensorClass::Any)
    json["for"] = nameOfClass(state.tensors);
  if (state.fromStep)
    json["from_step"] = true;
  return json;
}

static ordered_json jsonOf(const RuleInterface &rule, const DerivedInterface &derived) {
  auto from = ordered_json::array();
  for (const uint32_t hyper : derived.hypers)
    from.push_back(rule.hypers[hyper].name);
  return {{"flag", derived.flag}, {"from", std::move(from)}, {"message", derived.message}};
}

static ordered_json jsonOf(const RuleInterface &rule, const StreamInterface &stream,
                           const PlanInterface &plan) {
  using Kind = StreamInterface::Kind;
  switch (stream.kind) {
  case Kind::Param:
    return "param";
  case Kind::Grad:
    return "grad";
  case Kind::State:
    return rule.states[stream.state].name;
  case Kind::Scales:
    for (const StreamInterface &blocks : plan.streams)
      if (blocks.scales != StreamInterface::none && &plan.streams[blocks.scales] == &stream)
        return rule.states[blocks.state].name + ".scale";
    return nullptr;
  case Kind::Temporary:
    return {{"dtype", nameOf(stream.dtype)}, {"over", nameOf(stream.over)}};
  }
  return nullptr;
}

static ordered_json jsonOf(const SweepInterface &sweep, uint32_t number) {
  auto reductions = ordered_json::array();
  for (const ReductionInterface &reduction : sweep.reductions) {
    ordered_json json{{"kind", reduction.kind == ReductionInterface::Kind::Max ? "max" : "sum"},
                      {"over", nameOf(reduction.over)}};
    if (!isScalar(reduction.over))
      json["into"] = reduction.into;
    reductions.push_back(std::move(json));
  }
  return {{"sweep", number},
          {"over", nameOf(sweep.over)},
          {"loop", sweep.isMatrix    ? "matrix"
                   : sweep.isBatches ? "batch"
                                     : "flat"},
          {"reads", sweep.reads},
          {"writes", sweep.writes},
          {"makes", sweep.makes},
          {"reductions", std::move(reductions)}};
}

static ordered_json jsonOf(const RuleInterface &rule, const PlanInterface &plan) {
  auto streams = ordered_json::array(), sequence = ordered_json::array();
  for (const StreamInterface &stream : plan.streams)
    streams.push_back(jsonOf(rule, stream, plan));
  for (const StageInterface &stage : plan.sequence)
    if (stage.isSweep)
      sequence.push_back(jsonOf(plan.sweeps[stage.index], stage.index));
    else
      sequence.push_back(
          {{"prologue", stage.index}, {"rows_by", stage.byTensor ? "tensor" : "step"}});
  return {{"for", nameOfClass(plan.tensors)}, {"prefix", plan.prefix},
          {"row_scalars", plan.rowScalars},   {"random", plan.usesRandom},
          {"prologues", plan.prologues},      {"streams", std::move(streams)},
          {"sequence", std::move(sequence)}};
}

std::string RuleInterface::json() const {
  ordered_json json{
      {"format", 4}, {"name", name}, {"compute", nameOf(compute)}, {"numerics", numerics}};
  if (!gpu.empty())
    json["gpu"] = gpu;
  json["statics"] = ordered_json::object();
  for (const auto &[flag, value] : statics)
    json["statics"][flag] = value;
  json["param"] = nameOf(param);
  json["grad"] = nameOf(grad);
  json["states"] = ordered_json::array();
  for (const StateInterface &state : states)
    json["states"].push_back(jsonOf(state));
  if (dependsOn != Extent::Element)
    json["depends_on"] = nameOf(dependsOn);
  json["hypers"] = ordered_json::array();
  for (const HyperInterface &hyper : hypers)
    json["hypers"].push_back(jsonOf(hyper));
  json["messages"] = messages;
  for (const DerivedInterface &each : derived)
    json["derived"].push_back(jsonOf(*this, each));
  json["plans"] = ordered_json::array();
  for (const PlanInterface &plan : plans)
    json["plans"].push_back(jsonOf(*this, plan));
  return json.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}
