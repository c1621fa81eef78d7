//===- DeviceOptimizerStates.cpp - Memory of states on a device -------------------------------===//
// States are allocated before the first step of their parameter. They exist for the host only after
// it has read that the step was not skipped.

#include "runtime/gpu/DeviceOptimizer.h"

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"
#include "runtime/base/FloatEnvironment.h"

#include <algorithm>
#include <bit>

using namespace updraft::gpu;
using namespace updraft::runtime;

Status DeviceOptimizer::allocateStates(size_t bytes, StateArena &memory) {
  void *data = nullptr;
  if (Status status = gpu->allocate(bytes, &data); !status.ok())
    return status;
  StateArena made(data, bytes, [kept = gpu](char *own, size_t) { kept->release(own); });
  bool isCaptured = false;
  if (Status status = gpu->isCaptured(stream, isCaptured); !status.ok())
    return status;
  Stream setup = stream;
  if (isCaptured)
    if (Status status = gpu->ownStream(setup); !status.ok())
      return status;
  if (Status status = gpu->zero(data, bytes, setup); !status.ok())
    return status;
  memory = std::move(made);
  return {};
}

Status DeviceOptimizer::readMemory(void *to, const void *from, size_t bytes) const {
  return gpu->read(to, from, bytes, stream);
}

Status DeviceOptimizer::writeMemory(void *to, const void *from, size_t bytes) {
  return gpu->write(to, from, bytes, stream);
}

Status DeviceOptimizer::settleStates() {
  if (pending.empty())
    return {};
  if (Status status = readProgress(); !status.ok())
    return status;
  std::erase_if(pending, [&](uint32_t param) {
    if (progress.firsts[param])
      return false;
    acceptStates(param);
    isPending[param] = 0;
    return true;
  });
  return {};
}

Status DeviceOptimizer::statesBound(size_t param) {
  const char before = progress.firsts[param];
  Status status = writeFirst(param);
  if (!status.ok())
    progress.firsts[param] = before;
  return status;
}

/// Checks the parameter's own states and those of its group.
bool DeviceOptimizer::lacksStates(size_t param) const {
  for (size_t j = 0; j < stateCount(); ++j)
    if (isOf(param, j) && stateOrigins[slotOf(param, j)] == StateOrigin::None)
      return true;
  return false;
}

Status DeviceOptimizer::fill(const std::vector<Fill> &all, Stream setup) {
  if (all.empty())
    return {};
  // The other stream may still be reading the last content.
  DeviceArena &arena = setup == stream ? fills : fillsOfGraphs;
  arena.clear();
  const Table<Fill> table = arena.reserve<Fill>(all.size());
  if (Status status = arena.allocate(); !status.ok())
    return status;
  std::copy(all.begin(), all.end(), arena.host(table));
  if (Status status = arena.upload(setup); !status.ok())
    return status;
  return launchOver(*gpu, engine.fill, arena.at(table), table.count, 1, setup);
}

/// Adds a job that fills a state with its initial value.
void DeviceOptimizer::addFills(size_t param, size_t state, void *data, const InitialValues &initial,
                               std::vector<Fill> &to) const {
  constexpr int64_t elementsOfFill = int64_t(1) << 16;
  auto add = [&](void *memory, int64_t count, uint64_t value, int64_t bytes) {
    for (int64_t begin = 0; begin < count; begin += elementsOfFill)
      to.push_back({static_cast<char *>(memory) + begin * bytes,
                    std::min(elementsOfFill, count - begin), value, bytes});
  };
  const StateInterface &found = interface().states[state];
  const Param &own = params[param];
  uint64_t value = 0;
  initial.fill(own.group, state, &value, 0, 1);
  add(data, own.shape.count(found.over), value, static_cast<int64_t>(sizeOf(found.dtype)));
  if (!isBlocked(found.dtype))
    return;
  const QuantBlocks blocks = blocksOf(param);
  uint64_t scale = 0;
  initial.fillScales(own.group, state, &scale, 0, 1);
  add(blocks.scalesOf(data), blocks.count(), scale, sizeof(float));
}

std::vector<double> DeviceOptimizer::allHypers() const {
  std::vector<double> values;
  for (size_t i = 0; i < groupCount(); ++i)
    values.insert(values.end(), hypers.of(i), hypers.of(i) + interface().hypers.size());
  return values;
}

DeviceOptimizer::Filled DeviceOptimizer::initialValues() const {
  Filled initial{{}, allHypers()};
  DefaultFloatEnvironment environment;
  initial.values.evaluate(*kernels, hypers);
  return initial;
}

/// If hyperparameters have changed, states that were allocated for a step that was skipped or not
/// applied get new initial values. Waits to learn whether the step was skipped.
Status DeviceOptimizer::renewStates() {
  if (!filled || std::equal(filled->hypers.begin(), filled->hypers.end(), hypers.of(0)))
    return {};
  Filled initial = initialValues();
  std::vector<char> changed; // by group and state
  for (uint32_t i = 0; i < groupCount(); ++i)
    for (size_t j = 0; j < stateCount(); ++j)
      changed.push_back(std::bit_cast<uint64_t>(initial.values.value(i, j)) !=
                        std::bit_cast<uint64_t>(filled->values.value(i, j)));
  if (std::find(changed.begin(), changed.end(), 1) == changed.end()) {
    filled = std::move(initial);
    return {};
  }
  auto isToRenew = [&](size_t param, size_t state) {
    const size_t slot = slotOf(param, state);
    return changed[params[param].group * stateCount() + state] && holds(param, state) &&
           statePointers[slot] && stateOrigins[slot] == StateOrigin::None;
  };
  bool anyToRenew = false;
  for (size_t i = 0; i < params.size() && !anyToRenew; ++i)
    for (size_t j = 0; j < stateCount(); ++j)
      anyToRenew |= isToRenew(i, j);
  if (!anyToRenew)
    return {};
  if (Status status = settleStates(); !status.ok())
    return status;
  std::vector<Fill> wanted;
  for (size_t j = 0; j < stateCount(); ++j)
    for (size_t i = 0; i < params.size(); ++i)
      if (isToRenew(i, j))
        addFills(i, j, statePointers[slotOf(i, j)], initial.values, wanted);
  if (Status status = fill(wanted, stream); !status.ok())
    return status;
  filled = std::move(initial);
  return {};
}

/// Allocates and initializes the states of all parameters that have a gradient but no states yet,
/// in one piece.
Status DeviceOptimizer::createStates(Stream setup) {
  struct Missing {
    size_t param, state;
  };
  std::vector<Missing> missing;
  size_t total = 0;
  auto isMissing = [&](size_t param, size_t state) {
    return isShared(state) && !missing.empty() && missing.back().state == state &&
           slotOf(missing.back().param, state) == slotOf(param, state);
  };
  for (size_t j = 0; j < stateCount(); ++j)
    for (size_t i = 0; i < params.size(); ++i)
      if (takesPart(i) && isOf(i, j) && !statePointers[slotOf(i, j)] && stateBytes(i, j) != 0 &&
          !isMissing(i, j)) {
        missing.push_back({i, j});
        total += runtime::alignedSize(stateBytes(i, j));
      }
  if (missing.empty())
    return {};
  StateArena arena;
  if (Status status = allocateArena(total, arena); !status.ok())
    return status;
  Filled initial = initialValues();
  char *memory = arena.data();
  std::vector<Fill> wanted;
  for (const auto [param, state] : missing) {
    if (!initial.values.isZero(params[param].group, state))
      addFills(param, state, memory, initial.values, wanted);
    memory += runtime::alignedSize(stateBytes(param, state));
  }
  if (Status status = fill(wanted, setup); !status.ok())
    return status;
  memory = arena.data();
  for (const auto [param, state] : missing) {
    statePointers[slotOf(param, state)] = memory;
    memory += runtime::alignedSize(stateBytes(param, state));
  }
  keepArena(std::move(arena));
  // Otherwise states that were filled by steps outside of the graph are renewed first.
  if (!filled || setup == stream)
    filled = std::move(initial);
  return {};
}
