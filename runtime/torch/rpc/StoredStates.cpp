//===- StoredStates.cpp - A rule's states in the form of a state_dict -------------------------===//

#include "runtime/torch/rpc/StoredStates.h"

#include "runtime/base/DType.h"
#include "runtime/torch/TensorView.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace updraft::torch_adapter;
namespace runtime = updraft::runtime;

static constexpr const char *stepCount = "step";

static std::string scalesOf(const std::string &state) { return state + ".scale"; }

bool StoredStates::State::isOf(const at::Tensor &param) const {
  return tensors == UPD_ALL_TENSORS || (tensors == UPD_MATRICES) == (param.dim() >= 2);
}

StoredStates::StoredStates(const upd_rule *compiled) {
  const Library &library = Library::get();
  rule = library.upd_rule_name(compiled);
  for (size_t i = 0, count = library.upd_rule_state_count(compiled); i < count; ++i) {
    const upd_dtype dtype = library.upd_rule_state_dtype(compiled, i);
    states.push_back({library.upd_rule_state_name(compiled, i), dtype, runtime::isBlocked(dtype),
                      library.upd_rule_state_extent(compiled, i) == UPD_EXTENT_GROUP,
                      library.upd_rule_state_tensors(compiled, i)});
  }
}

bool StoredStates::has(const std::string &name) const {
  if (name == stepCount)
    return true;
  for (const State &state : states)
    if (name == state.name || (state.isBlocked && name == scalesOf(state.name)))
      return true;
  return false;
}

std::vector<std::string> StoredStates::ofGroup() const {
  std::vector<std::string> names;
  for (const State &state : states)
    if (state.isOfGroup)
      names.push_back(state.name);
  return names;
}

StatesByName StoredStates::copy(const GroupStepper &stepper, int64_t param) const {
  StatesByName result;
  auto add = [&](const std::string &name) {
    if (at::Tensor state = stepper.copyOfState(param, name); state.defined())
      result.emplace(name, std::move(state));
  };
  add(stepCount);
  // Other parameters of the group may have created theirs.
  if (result.empty())
    return result;
  for (const State &state : states) {
    add(state.name);
    if (state.isBlocked)
      add(scalesOf(state.name));
  }
  return result;
}

static void loadStepCount(GroupStepper &stepper, int64_t param, int64_t number,
                          const at::Tensor &given) {
  TORCH_CHECK_VALUE(given.numel() == 1, "the state `step` of parameter ", number, " has ",
                    given.numel(), " elements; it is one number");
  stepper.setStepCount(param, asStepCount(given.item().toDouble(), std::to_string(number)));
}

void StoredStates::load(GroupStepper &stepper, int64_t param, int64_t number,
                        const at::Tensor &tensor, const StatesByName &given) const {
  for (const auto &[name, value] : given)
    if (!has(name)) {
      std::vector<std::string> known{stepCount};
      for (const State &state : states)
        known.push_back(state.name);
      TORCH_CHECK_VALUE(false, "parameter ", number, " has a state `", name, "`; the rule `", rule,
                        "` has `", fmt::format("{}", fmt::join(known, "`, `")), "`");
    }
  // A rule that had no states before a flag changed may still have counted steps.
  const bool hasOnlyCount = given.size() == 1 && given.contains(stepCount);
  for (const State &state : states) {
    if (!state.isOf(tensor) || hasOnlyCount)
      continue;
    auto found = given.find(state.name);
    TORCH_CHECK_VALUE(found != given.end(), "parameter ", number, " has no state `", state.name,
                      "`; the rule `", rule, "` steps with all of its states or with none");
    at::Tensor value = found->second;
    // A state over elements has the parameter's shape and memory order. torch stores some in the
    // gradient's order.
    const bool same = value.sizes() == tensor.sizes();
    if (state.isBlocked) {
      auto scales = given.find(scalesOf(state.name));
      TORCH_CHECK_VALUE(scales != given.end(), "the state `", state.name, "` of parameter ", number,
                        " is not in blocks of codes, but the rule `", rule,
                        "` stores it so here; "
                        "give the optimizer the `storage` that the state was made with");
      TORCH_CHECK_VALUE(same, "the state `", state.name, "` of parameter ", number, " is ",
                        value.sizes(), ", but the parameter is ", tensor.sizes());
      stepper.bindBlocks(param, state.name, std::string(runtime::nameOf(state.dtype)), value,
                         scales->second);
      continue;
    }
    if (const at::ScalarType type = scalarTypeOf(state.dtype);
        at::isFloatingType(type) && !value.is_complex())
      value = value.to(type);
    at::Tensor own = same ? at::empty_strided(tensor.sizes(), tensor.strides(), value.options())
                          : at::empty_like(value, at::MemoryFormat::Contiguous);
    own.copy_(value);
    try {
      stepper.bindState(param, state.name, own);
    } catch (const c10::Error &error) {
      TORCH_CHECK_VALUE(false, "the states of parameter ", number,
                        " are not those of the rule: ", error.what_without_backtrace());
    }
  }
  if (auto found = given.find(stepCount); found != given.end())
    loadStepCount(stepper, param, number, found->second);
}
