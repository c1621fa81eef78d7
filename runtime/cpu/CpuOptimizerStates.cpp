//===- CpuOptimizerStates.cpp - Memory of new states ------------------------------------------===//
// States get memory before the first sweep of their parameter's first step. They count as existing
// once the step is done, because until then a prologue may skip it.

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"
#include "runtime/cpu/CpuOptimizer.h"

using namespace updraft::runtime;

/// Calls body(run, position, place, state) for each of its own states that a tensor lacks: first
/// the streams, then the scalars. Visits one state of all tensors before the next state: the
/// streams of small tensors are then contiguous in memory, which suits hardware prefetching.
template <typename Body> void CpuOptimizer::forNewStates(Body body) {
  auto visit = [&](PlanRun &run, size_t place, size_t state) {
    if (isShared(state))
      return;
    const std::vector<PlanRun::Tensor> &tensors = run.tensors();
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!run.isSkipped(i) && stateOrigins[slotOf(tensors[i].param, state)] == StateOrigin::None)
        body(run, i, place, state);
  };
  for (PlanRun &run : plan->runs())
    for (size_t j = StreamIndex::FirstState; j < run.streamInterfaces().size(); ++j)
      if (const uint32_t state = run.streamInterfaces()[j].state; state != StreamInterface::none)
        visit(run, j, state);
  for (PlanRun &run : plan->runs())
    for (size_t j = 0; j < run.scalarStates().size(); ++j)
      visit(run, j, run.scalarStates()[j]);
}

/// Calls body(slot) for each missing state over a group.
template <typename Body> void CpuOptimizer::forNewGroupStates(Body body) {
  for (size_t j = 0; j < stateCount(); ++j)
    for (size_t i = 0; i < params.size() && isShared(j); ++i)
      if (holds(i, j) && stateOrigins[slotOf(i, j)] == StateOrigin::None)
        body(slotOf(i, j));
}

/// Allocates the missing states of all tensors that aren't skipped so far, in one piece. Clears
/// `freshStates` if some have memory already, from a step that was skipped or abandoned.
Status CpuOptimizer::createStates() {
  auto bytesOf = [&](size_t param, size_t state) {
    constexpr size_t scalarBytes = sizeof(double);
    return isScalar(interface().states[state].over) ? scalarBytes
                                                    : alignedSize(stateBytes(param, state));
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
  for (PlanRun &run : plan->runs())
    for (size_t j = 0; j < run.scalarStates().size(); ++j)
      for (const PlanRun::Tensor &tensor : run.tensors())
        if (isShared(run.scalarStates()[j]))
          run.rows().setScalar(tensor.row, j,
                               statePointers[slotOf(tensor.param, run.scalarStates()[j])]);
  keepArena(std::move(arena));
  return {};
}
