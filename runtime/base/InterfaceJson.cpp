//===- InterfaceJson.cpp - The interface of a rule as JSON ------------------------------------===//
// docs/architecture.md describes the members.

#include "runtime/base/DType.h"
#include "runtime/base/RuleInterface.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace updraft::runtime;
using nlohmann::ordered_json;

namespace {

/// Adds members to an object of JSON. Each of the functions is one place that creates values; with
/// initializer lists, each member of each object would be one.
class Object {
public:
  [[gnu::noinline]] Object &add(const char *name, ordered_json value) {
    json[name] = std::move(value);
    return *this;
  }
  [[gnu::noinline]] Object &add(const char *name, const char *text) {
    return add(name, ordered_json(text));
  }
  [[gnu::noinline]] Object &add(const char *name, const std::string &text) {
    return add(name, ordered_json(text));
  }
  [[gnu::noinline]] Object &add(const char *name, uint32_t number) {
    return add(name, ordered_json(number));
  }
  [[gnu::noinline]] Object &add(const char *name, bool flag) {
    return add(name, ordered_json(flag));
  }
  [[gnu::noinline]] Object &add(const char *name, const std::vector<uint32_t> &numbers) {
    return add(name, ordered_json(numbers));
  }
  Object &addIf(bool condition, const char *name, const char *text) {
    return condition ? add(name, text) : *this;
  }
  Object &addFlag(bool condition, const char *name) { return condition ? add(name, true) : *this; }
  ordered_json take() { return std::move(json); }

private:
  ordered_json json = ordered_json::object();
};

/// Returns an array of make(each), for each element of a list.
template <typename List, typename Make> ordered_json arrayOf(const List &list, Make make) {
  auto array = ordered_json::array();
  for (const auto &each : list)
    array.push_back(make(each));
  return array;
}

const char *nameOfClass(TensorClass tensors) {
  return tensors == TensorClass::Any ? "any" : tensors == TensorClass::Vector ? "vector" : "matrix";
}

ordered_json jsonOf(const HyperInterface &hyper) {
  Object object;
  object.add("name", hyper.name);
  if (std::isinf(hyper.defaultValue)) // JSON has no infinity
    object.add("default", hyper.defaultValue < 0 ? "-inf" : "inf");
  else
    object.add("default", ordered_json(hyper.defaultValue));
  return object.take();
}

ordered_json jsonOf(const StateInterface &state) {
  return Object()
      .add("name", state.name)
      .add("dtype", nameOf(state.dtype))
      .addIf(state.over != Extent::Element, "over", nameOf(state.over))
      .addIf(state.tensors != TensorClass::Any, "for", nameOfClass(state.tensors))
      .addFlag(state.fromStep, "from_step")
      .take();
}

/// A number is its name. A histogram is an object.
ordered_json jsonOf(const std::vector<ProbeInterface> &probes) {
  auto array = ordered_json::array();
  auto bounds = ordered_json::array();
  for (const ProbeInterface &probe : probes) {
    if (!probe.end) {
      array.push_back(probe.name);
    } else if (!std::isinf(*probe.end)) {
      bounds.push_back(*probe.end);
    } else {
      array.push_back(Object().add("name", probe.name).add("bounds", std::move(bounds)).take());
      bounds = ordered_json::array();
    }
  }
  return array;
}

ordered_json jsonOf(const RuleInterface &rule, const DerivedInterface &derived) {
  return Object()
      .add("flag", derived.flag)
      .add("from", arrayOf(derived.hypers, [&](uint32_t hyper) { return rule.hypers[hyper].name; }))
      .add("message", derived.message)
      .take();
}

ordered_json jsonOf(const RuleInterface &rule, const StreamInterface &stream,
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
    return Object().add("dtype", nameOf(stream.dtype)).add("over", nameOf(stream.over)).take();
  }
  return nullptr;
}

ordered_json jsonOf(const ReductionInterface &reduction) {
  Object object;
  object.add("kind", reduction.kind == ReductionInterface::Kind::Max ? "max" : "sum")
      .add("over", nameOf(reduction.over));
  if (!isScalar(reduction.over))
    object.add("into", reduction.into);
  return object.take();
}

ordered_json jsonOf(const SweepInterface &sweep, uint32_t number) {
  return Object()
      .add("sweep", number)
      .add("over", nameOf(sweep.over))
      .add("loop", sweep.isMatrix    ? "matrix"
                   : sweep.isBatches ? "batch"
                                     : "flat")
      .add("reads", sweep.reads)
      .add("writes", sweep.writes)
      .add("makes", sweep.makes)
      .add("reductions", arrayOf(sweep.reductions, [](const auto &each) { return jsonOf(each); }))
      .take();
}

ordered_json jsonOf(const ProductInterface &product, uint32_t number) {
  Object object;
  object.add("product", number)
      .add("lhs", product.lhs)
      .addFlag(product.lhsTransposed, "lhs_transposed")
      .add("rhs", product.rhs)
      .addFlag(product.rhsTransposed, "rhs_transposed")
      .addFlag(product.symmetric, "symmetric");
  if (product.operandFormat)
    object.add("operand_format", nameOf(*product.operandFormat));
  if (product.addend) {
    object.add("addend", *product.addend);
    if (product.scale != 0)
      object.add("scale", product.scale);
    if (product.addendScale != 0)
      object.add("addend_scale", product.addendScale);
  }
  if (product.target) {
    object.add("target", *product.target);
    if (product.sumScale != 0)
      object.add("sum_scale", product.sumScale);
    if (product.targetScale != 0)
      object.add("target_scale", product.targetScale);
  }
  return object.add("result", product.result).take();
}

ordered_json jsonOf(const CallInterface &call, uint32_t number) {
  return Object()
      .add("call", number)
      .add("function", nameOf(call.function))
      .add("operands", call.operands)
      .add("result", call.result)
      .take();
}

ordered_json jsonOf(const PlanInterface &plan, const StageInterface &stage) {
  auto withCondition = [&](ordered_json object) {
    if (stage.condition != 0)
      object["condition"] = stage.condition;
    return object;
  };
  switch (stage.kind) {
  case StageInterface::Kind::Sweep:
    return withCondition(jsonOf(plan.sweeps[stage.index], stage.index));
  case StageInterface::Kind::Product:
    return withCondition(jsonOf(plan.products[stage.index], stage.index));
  case StageInterface::Kind::Call:
    return withCondition(jsonOf(plan.calls[stage.index], stage.index));
  case StageInterface::Kind::Prologue:
    break;
  }
  return Object()
      .add("prologue", stage.index)
      .add("rows_by", stage.byTensor ? "tensor" : "step")
      .take();
}

ordered_json jsonOf(const RuleInterface &rule, const PlanInterface &plan) {
  Object object;
  object.add("for", nameOfClass(plan.tensors));
  if (plan.shapes != AllMatrices) {
    auto shapes = ordered_json::array();
    for (auto [shape, name] :
         {std::pair(WideMatrices, "wide"), {SquareMatrices, "square"}, {TallMatrices, "tall"}})
      if ((plan.shapes & shape) != 0)
        shapes.push_back(name);
    object.add("shapes", std::move(shapes));
  }
  if (plan.chosen != 0)
    object.add("chosen", ordered_json(plan.chosen));
  object.add("prefix", plan.prefix)
      .add("row_scalars", plan.rowScalars)
      .add("random", plan.usesRandom)
      .addFlag(plan.skips, "skips")
      .addFlag(plan.isProbed, "probed")
      .add("prologues", plan.prologues)
      .add("streams",
           arrayOf(plan.streams, [&](const auto &each) { return jsonOf(rule, each, plan); }))
      .add("sequence",
           arrayOf(plan.sequence, [&](const auto &each) { return jsonOf(plan, each); }));
  if (!plan.exclusiveConditions.empty())
    object.add("exclusive_conditions", ordered_json(plan.exclusiveConditions));
  return object.take();
}

} // namespace

std::string RuleInterface::json() const {
  Object object, flags;
  for (const auto &[flag, value] : statics)
    flags.add(flag.c_str(), value);
  object.add("format", uint32_t(4))
      .add("name", name)
      .add("compute", nameOf(compute))
      .add("numerics", numerics);
  if (!gpu.empty())
    object.add("gpu", gpu);
  object.add("statics", flags.take())
      .add("param", nameOf(param))
      .add("grad", nameOf(grad))
      .add("states", arrayOf(states, [](const auto &each) { return jsonOf(each); }))
      .addIf(dependsOn != Extent::Element, "depends_on", nameOf(dependsOn))
      .add("hypers", arrayOf(hypers, [](const auto &each) { return jsonOf(each); }))
      .add("messages", arrayOf(messages, [](const auto &each) { return each; }));
  if (!derived.empty())
    object.add("derived", arrayOf(derived, [&](const auto &each) { return jsonOf(*this, each); }));
  if (!probes.empty())
    object.add("probes", jsonOf(probes));
  object.add("plans", arrayOf(plans, [&](const auto &each) { return jsonOf(*this, each); }));
  return object.take().dump(-1, ' ', /*ensure_ascii=*/false,
                            ordered_json::error_handler_t::replace);
}
