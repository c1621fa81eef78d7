//===- OptimizerStates.cpp - States and settings ----------------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/FloatEnvironment.h"
#include "runtime/base/MessageText.h"
#include "runtime/base/OptimizerFileNames.h"
#include "runtime/optimizer/Optimizer.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace updraft::runtime;

Status Optimizer::checkParam(size_t param) const {
  if (param < params.size())
    return {};
  return invalidArgument(
      fmt::format("parameter {} does not exist; the optimizer has {}", param, params.size()));
}

Status Optimizer::findState(const char *name, size_t &index) const {
  if (!name)
    return invalidArgument("the name of a state is null");
  std::vector<std::string> known;
  for (const StateInterface &state : interface().states) {
    if (state.name == name) {
      index = known.size();
      return {};
    }
    known.push_back(state.name);
  }
  return notFound(
      fmt::format("rule `{}` has no state `{}`{}", interface().name, name, nameHint(name, known)));
}

bool Optimizer::isOf(size_t param, size_t state) const {
  const StateInterface &found = interface().states[state];
  return isShared(state) || found.isOf(interface().plans[params[param].plan].tensors);
}

bool Optimizer::isOwn(size_t param, size_t state) const {
  return !isShared(state) && isOf(param, state);
}

TensorLayout Optimizer::layoutOf(size_t param, size_t state) const {
  switch (interface().states[state].over) {
  case Extent::Element:
    return params[param].layout;
  case Extent::Row:
    return rowLayouts[param];
  case Extent::Column:
    return columnLayouts[param];
  case Extent::RowsByRows:
    return rowSquareLayouts[param];
  case Extent::ColumnsByColumns:
    return columnSquareLayouts[param];
  case Extent::ChosenByColumns: // only temporaries are over these and batches
  case Extent::RowsByChosen:
  case Extent::ChosenByChosen:
  case Extent::Batch:
  case Extent::Tensor:
  case Extent::Group:
    break;
  }
  return {};
}

Status Optimizer::checkOf(size_t param, size_t state) const {
  if (isOf(param, state))
    return {};
  return notFound(fmt::format(
      "parameter `{}` has no state `{}`, which is for {} only", names[param],
      interface().states[state].name,
      interface().states[state].tensors == TensorClass::Matrix ? "matrices" : "vectors"));
}

size_t Optimizer::stateBytes(size_t param, size_t state) const {
  const StateInterface &found = interface().states[state];
  if (isBlocked(found.dtype))
    return blocksOf(param).bytes();
  return static_cast<size_t>(params[param].shape.count(found.over)) * sizeOf(found.dtype);
}

bool Optimizer::ownsStates(size_t param) const {
  for (size_t i = 0; i < stateCount(); ++i)
    if (isOwn(param, i))
      return true;
  return false;
}

bool Optimizer::hasStates(size_t param) const {
  for (size_t i = 0; i < stateCount(); ++i)
    if (isOwn(param, i) && stateOrigins[slotOf(param, i)] == StateOrigin::None)
      return false;
  return true;
}

bool Optimizer::usesRandom() const {
  return std::any_of(interface().plans.begin(), interface().plans.end(),
                     [](const PlanInterface &plan) { return plan.usesRandom; });
}

void Optimizer::setSeed(uint64_t value) {
  foldSteps();
  seed = value;
  discardPlan();
}

Status Optimizer::setParamNumbers(const uint64_t *numbers, size_t count) {
  if (!numbers && count != 0)
    return invalidArgument(fmt::format("numbers is null, but count is {}", count));
  if (count != params.size())
    return invalidArgument(fmt::format("there are {} numbers of parameters; the optimizer has {}",
                                       count, params.size()));
  foldSteps();
  paramNumbers.assign(numbers, numbers + count);
  discardPlan();
  return {};
}

std::string Optimizer::ownerText(const MemoryRange &owner, const MemoryRange &intruder) const {
  if (owner.part == paramPart)
    return fmt::format("parameter `{}`", names[owner.owner]);
  if (owner.owner != arenaOwner)
    return fmt::format("state `{}` of parameter `{}`", interface().states[owner.part].name,
                       names[owner.owner]);
  for (size_t i = 0; i < params.size(); ++i)
    for (size_t j = 0; j < stateCount(); ++j) {
      if (!holds(i, j))
        continue;
      const auto begin = reinterpret_cast<uintptr_t>(statePointers[slotOf(i, j)]);
      if (begin < intruder.end && intruder.begin < begin + stateBytes(i, j))
        return fmt::format("state `{}` of parameter `{}`", interface().states[j].name, names[i]);
    }
  return "memory of the optimizer";
}

Status Optimizer::checkStepCount(int64_t step) {
  if (step < 0 || step > maxStep)
    return invalidArgument(fmt::format("expected a step count from 0 to 2^53, got {}", step));
  return {};
}

Status Optimizer::checkAskedSteps(size_t count) const {
  if (count != params.size())
    return invalidArgument(fmt::format(
        "{} step counts are asked for, but the number of parameters is {}", count, params.size()));
  return {};
}

bool Optimizer::findScales(std::string_view name, size_t &index) const {
  if (!name.ends_with(scaleSuffix))
    return false;
  name.remove_suffix(scaleSuffix.size());
  const std::vector<StateInterface> &states = interface().states;
  for (index = 0; index < states.size(); ++index)
    if (states[index].name == name)
      return isBlocked(states[index].dtype);
  return false;
}

Status Optimizer::state(size_t param, const char *name, upd_tensor &tensor) {
  size_t index;
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = settleStates(); !status.ok())
    return status;
  if (name && findScales(name, index))
    return viewState(param, index, true, tensor);
  if (Status status = findState(name, index); !status.ok())
    return status;
  return viewState(param, index, false, tensor);
}

Status Optimizer::viewState(size_t param, size_t index, bool ofScales, upd_tensor &tensor) const {
  if (Status status = checkOf(param, index); !status.ok())
    return status;
  if (stateOrigins[slotOf(param, index)] == StateOrigin::None)
    return notFound(fmt::format("parameter `{}` has no state yet; it gets it with its first step",
                                names[param]));
  const TensorLayout layout = ofScales ? scaleLayouts[param] : layoutOf(param, index);
  tensor = {};
  tensor.data = statePointers[slotOf(param, index)];
  if (ofScales)
    tensor.data = blocksOf(param).scalesOf(tensor.data);
  tensor.shape = layout.shape;
  tensor.strides = layout.strides;
  tensor.rank = layout.rank;
  tensor.dtype = ofScales ? UPD_F32 : interface().states[index].dtype;
  tensor.device = device.kind;
  tensor.device_index = device.index;
  return {};
}

Status Optimizer::initialValue(size_t param, const char *name, double &value) const {
  size_t index;
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = findState(name, index); !status.ok())
    return status;
  GroupHypers now = hypers;
  if (device.isCpu()) // a GPU's new states start from the last values that were set
    if (Status status = hypersNow(now); !status.ok())
      return status;
  std::vector<double> initial(stateCount());
  DefaultFloatEnvironment environment;
  kernels->initial(now.of(params[param].group), initial.data());
  value = initial[index];
  return {};
}

Status Optimizer::bindState(size_t param, const char *name, const upd_tensor &tensor) {
  size_t index;
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = findState(name, index); !status.ok())
    return status;
  if (Status status = checkOf(param, index); !status.ok())
    return status;
  const TensorLayout layout = layoutOf(param, index);
  const std::string subject = fmt::format("state `{}` of parameter `{}`", name, names[param]);
  if (!hasLayout(tensor, layout))
    return invalidArgument(otherLayoutText(
        subject, tensor, layout,
        interface().states[index].over == Extent::Element ? "the parameter" : "the state"));
  if (Status status = checkMemory(tensor, device, interface().states[index].dtype, layout.elements,
                                  subject, "states of this name");
      !status.ok())
    return status;
  if (tensor.read_only)
    return invalidArgument(
        fmt::format("{} is read-only, but a step writes it; give a copy that is not", subject));
  if (isBlocked(interface().states[index].dtype) &&
      reinterpret_cast<uintptr_t>(tensor.data) % alignof(float) != 0)
    return invalidArgument(fmt::format("{} is not aligned: its codes start at a multiple of 4 "
                                       "bytes, since scales follow them",
                                       subject));

  if (Status status = settleStates(); !status.ok())
    return status;
  const size_t slot = slotOf(param, index);
  const auto owner = static_cast<uint32_t>(slot / stateCount());
  const auto part = static_cast<uint32_t>(index);
  const MemoryRange range(tensor.data, stateBytes(param, index), owner, part);
  const MemoryRange *other = owned.findOther(range); // a state may be bound again
  if (other)
    return invalidArgument(fmt::format("{} overlaps {}; give it memory of its own", subject,
                                       ownerText(*other, range)));
  owned.reserve(1);
  foldSteps();
  gradsChecked = false;
  discardPlan();
  void *const before = std::exchange(statePointers[slot], tensor.data);
  const StateOrigin originBefore = std::exchange(stateOrigins[slot], StateOrigin::Bound);
  if (Status status = statesBound(param); !status.ok()) {
    statePointers[slot] = before;
    stateOrigins[slot] = originBefore;
    return status;
  }
  if (originBefore == StateOrigin::Bound)
    owned.erase(owner, part);
  else
    ++boundStates;
  owned.insert(range);
  return {};
}

Status Optimizer::allocateArena(size_t bytes, StateArena &arena) {
  owned.reserve(1);
  arenas.reserve(arenas.size() + 1);
  if (bytes == 0)
    return {};
  return allocateStates(bytes, arena);
}

void Optimizer::keepArena(StateArena arena) {
  if (!arena.data())
    return;
  owned.insert({arena.data(), arena.size(), arenaOwner, static_cast<uint32_t>(arenas.size())});
  arenas.push_back(std::move(arena));
}

void Optimizer::acceptStates(size_t param) {
  for (size_t j = 0; j < stateCount(); ++j) {
    StateOrigin &origin = stateOrigins[slotOf(param, j)];
    // A state over a group is only written by plans that have it.
    if (origin == StateOrigin::None &&
        interface().states[j].isOf(interface().plans[params[param].plan].tensors))
      origin = StateOrigin::Own;
  }
}

//===----------------------------------------------------------------------------------------===//
// Values that each step reads
//===----------------------------------------------------------------------------------------===//

Status Optimizer::checkNumber(const upd_tensor &tensor, const std::string &subject) const {
  int64_t elements = 1;
  for (int32_t i = 0; i < tensor.rank && tensor.shape; ++i)
    elements *= tensor.shape[i];
  if (tensor.rank < 0 || (tensor.rank != 0 && !tensor.shape) || elements != 1)
    return invalidArgument(fmt::format("expected a tensor of one element for {}", subject));
  return checkMemory(tensor, device, tensor.dtype, 1, subject, "a number");
}

Status Optimizer::bindFoundInf(const upd_tensor *found) {
  if (found) {
    const std::string subject = "found_inf";
    if (found->dtype != UPD_F32)
      return invalidArgument("found_inf is not f32; give a float, as torch's GradScaler has it");
    if (Status status = checkNumber(*found, subject); !status.ok())
      return status;
  }
  foundInf = found ? static_cast<const float *>(found->data) : nullptr;
  prepared = Prepared::Nothing;
  return {};
}

Status Optimizer::setHypers(size_t group, const upd_hyper *values, size_t count) {
  if (Status status = hypers.set(group, values, count); !status.ok())
    return status;
  prepared = Prepared::Nothing;
  size_t dropped = 0;
  for (size_t i = 0; i < count && !hyperSources.empty(); ++i)
    dropped += std::erase_if(hyperSources, [&](const HyperSource &source) {
      return source.group == group && hypers.hyperNames()[source.hyper] == values[i].name;
    });
  if (dropped != 0)
    hyperSourcesChanged();
  return {};
}

Status Optimizer::hypersNow(GroupHypers &result) const {
  GroupHypers now = hypers;
  std::vector<upd_hyper> values;
  for (size_t group = 0; group < groupCount(); ++group) {
    values.clear();
    for (const HyperSource &source : hyperSources) {
      if (source.group != group)
        continue;
      char element[sizeof(double)];
      if (Status status = readMemory(element, source.data, sizeOf(source.dtype)); !status.ok())
        return status;
      values.push_back(
          {hypers.hyperNames()[source.hyper].c_str(), loadExact(source.dtype, element)});
    }
    if (Status status = now.set(group, values.data(), values.size()); !status.ok())
      return status;
  }
  result.swap(now);
  return {};
}

Status Optimizer::bindHyper(size_t group, const char *name, const upd_tensor *value) {
  size_t hyper;
  if (Status status = hypers.find(group, name, hyper); !status.ok())
    return status;
  HyperSource source{group, hyper, nullptr, UPD_F32};
  if (value) {
    if (Status status = checkNumber(*value, fmt::format("hyperparameter `{}`", name)); !status.ok())
      return status;
    if (value->dtype > UPD_F16)
      return invalidArgument(fmt::format("hyperparameter `{}` is {}; it is read as f32, f64, bf16 "
                                         "or f16",
                                         name, nameOf(value->dtype)));
    source.data = value->data;
    source.dtype = value->dtype;
  }
  std::erase_if(hyperSources, [&](const HyperSource &known) {
    return known.group == group && known.hyper == hyper;
  });
  if (value)
    hyperSources.push_back(source);
  prepared = Prepared::Nothing;
  hyperSourcesChanged();
  return {};
}
