//===- CpuOptimizerStates.cpp - Memory of new states ------------------------------------------===//
// States get their memory before the first pass of their parameter's first step, and count as there
// once that step is done: only then is it known that it was not skipped.

#include "runtime/base/DType.h"
#include "runtime/cpu/CpuOptimizer.h"

using namespace updraft::runtime;

/// Calls body(run, position, place, state) for each state of its own that a tensor lacks: those of
/// streams, then scalars. One state of all parameters after the other: small tensors then lie in
/// sequence, stream by stream, as the processor's prefetching likes them.
template <typename Body> void CpuOptimizer::forNewStates(Body body) {
  auto visit = [&](PlanRun &run, size_t place, size_t state) {
    if (isShared(state))
      return;
    const std::vector<PlanRun::Tensor> &tensors = run.tensors();
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!run.isSkipped(i) && stateOrigins[slotOf(tensors[i].param, state)] == StateOrigin::None)
        body(run, i, place, state);
  };
  for (PlanRun &run : plan.runs())
    for (size_t j = StreamIndex::FirstState; j < run.streamInterfaces().size(); ++j)
      if (const uint32_t state = run.streamInterfaces()[j].state; state != StreamInterface::none)
        visit(run, j, state);
  for (PlanRun &run : plan.runs())
    for (size_t j = 0; j < run.scalarStates().size(); ++j)
      visit(run, j, run.scalarStates()[j]);
}

/// Calls body(slot) for each state over a group that is not there.
template <typename Body> void CpuOptimizer::forNewGroupStates(Body body) {
  for (size_t j = 0; j < stateCount(); ++j)
    for (size_t i = 0; i < params.size() && isShared(j); ++i)
      if (holds(i, j) && stateOrigins[slotOf(i, j)] == StateOrigin::None)
        body(slotOf(i, j));
}

/// Memory for the states of those that have none and are not skipped so far, all in one piece.
/// It is fresh if it all holds zeros, and none is left from a step that was skipped or given up.
Status CpuOptimizer::createStates() {
  auto bytesOf = [&](size_t param, size_t state) {
    constexpr size_t scalarBytes = sizeof(double);
    return isScalar(interface().states[state].over) ? scalarBytes
                                                    : alignedBytes(stateBytes(param, state));
  };
  size_t total = 0;
  auto count = [&](size_t slot, size_t bytes) {
    if (statePointers[slot])
      freshStates = false;
    else
      total += bytes;
  };
  forNewStates([&](PlanRun &run, size_t position, size_t, size_t state) {
    const size_t param = run.tensors()[position].param;
    count(slotOf(param, state), bytesOf(param, state));
  });
  forNewGroupStates([&](size_t slot) { count(slot, sizeof(double)); });

  StateArena arena;
  if (Status status = allocateArena(total, arena); !status.ok())
    return status;

  char *memory = arena.data();
  auto take = [&](size_t slot, size_t bytes) {
    if (!statePointers[slot] && bytes != 0) {
      statePointers[slot] = memory;
      memory += bytes;
    }
    return statePointers[slot];
  };
  forNewStates([&](PlanRun &run, size_t position, size_t place, size_t state) {
    const PlanRun::Tensor &tensor = run.tensors()[position];
    void *data = take(slotOf(tensor.param, state), bytesOf(tensor.param, state));
    if (isScalar(interface().states[state].over))
      run.rows().setScalar(tensor.row, place, data);
    else
      run.setStream(position, place, data);
  });
  forNewGroupStates([&](size_t slot) { take(slot, sizeof(double)); });
  for (PlanRun &run : plan.runs())
    for (size_t j = 0; j < run.scalarStates().size(); ++j)
      for (const PlanRun::Tensor &tensor : run.tensors())
        if (isShared(run.scalarStates()[j]))
          run.rows().setScalar(tensor.row, j,
                               statePointers[slotOf(tensor.param, run.scalarStates()[j])]);
  keepArena(std::move(arena));
  return {};
}
