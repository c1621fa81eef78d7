//===- CpuOptimizerRows.cpp - A step of some rows ---------------------------------------------===//

#include "runtime/cpu/CpuOptimizer.h"

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/optimizer/RowGradient.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace updraft::runtime;

Status CpuOptimizer::checkIndexValues(const upd_row_grad &rowGrad) const {
  const std::string &name = names[rowGrad.param];
  const int64_t rows = rowsOf(rowGrad, params[rowGrad.param].layout);
  for (size_t i = 0; i < rowGrad.index_count; ++i) {
    const int64_t index = rowGrad.indices[i];
    if (index < 0 || index >= rows)
      return invalidArgument(fmt::format("index {} of parameter `{}` is {}, but its rows are from "
                                         "0 to {}",
                                         i, name, index, rows - 1));
    if (i != 0 && index == rowGrad.indices[i - 1])
      return invalidArgument(fmt::format("indices {} and {} of parameter `{}` are both {}; add up "
                                         "the gradients of a row, and give it once",
                                         i - 1, i, name, index));
    if (i != 0 && index < rowGrad.indices[i - 1])
      return invalidArgument(fmt::format("index {} of parameter `{}` is {}, after {}; give rows in "
                                         "ascending order",
                                         i, name, index, rowGrad.indices[i - 1]));
  }
  return {};
}

/// Prepares `rowsRuns`. Sets `listedSizes` to the number of elements of the parameters with row
/// gradients, for each group.
Status CpuOptimizer::prepareRows(const StepGradients &gradients,
                                 std::vector<int64_t> &listedSizes) {
  // The size of a group counts all elements of every parameter that takes part.
  listedSizes.resize(groupCount());
  for (size_t i = 0; i < gradients.rowCount; ++i) {
    const Param &param = params[gradients.rows[i].param];
    listedSizes[param.group] += param.shape.elements();
  }
  std::vector<int64_t> groupSizes = listedSizes;
  for (size_t i = 0; i < params.size(); ++i)
    if (gradients.has(i))
      groupSizes[params[i].group] += params[i].shape.elements();

  for (size_t i = 0; i < gradients.rowCount; ++i)
    if (stepsOf(gradients.rows[i].param) >= maxStep)
      return refuseStepBeyond(gradients.rows[i].param);
  for (size_t i = 0; i < gradients.rowCount; ++i)
    addRowsRun(gradients.rows[i], groupSizes);
  InitialValues initial;
  if (std::any_of(rowsRuns.begin(), rowsRuns.end(), [](RowsRun &run) { return run.isFirst(); }))
    initial.evaluate(*kernels, stepHypers());
  for (RowsRun &run : rowsRuns)
    run.start(initial, stepHypers(), pool);
  return createRowStates(initial);
}

void CpuOptimizer::addRowsRun(const upd_row_grad &rowGrad, const std::vector<int64_t> &groupSizes) {
  const size_t param = rowGrad.param;
  const Param &found = params[param];
  RowsRun &run =
      rowsRuns.emplace_back(kernels, found.plan, static_cast<uint32_t>(param),
                            PrologueRows::Key{found.group, isFirst(param), stepsOf(param)},
                            found.shape, groupSizes, rowsOf(rowGrad, found.layout), rowGrad.indices,
                            static_cast<int64_t>(rowGrad.index_count), rowGrad.values.data);
  run.setStream(StreamIndex::Param, found.data);
  if (hasStates(param))
    setRowStates(run);
}

/// Called when all states of the parameter have memory.
void CpuOptimizer::setRowStates(RowsRun &run) const {
  const size_t param = run.param();
  for (size_t j = StreamIndex::FirstState; j < run.streamInterfaces().size(); ++j)
    if (const uint32_t state = run.streamInterfaces()[j].state; state != StreamInterface::none)
      run.setStream(j, statePointers[slotOf(param, state)]);
  const std::vector<uint32_t> &scalars = interface().plans[params[param].plan].scalarStates;
  for (size_t j = 0; j < scalars.size(); ++j)
    run.scalars().setScalar(0, j, statePointers[slotOf(param, scalars[j])]);
}

/// Allocates the missing states of parameters that aren't skipped, and fills in their initial
/// values. They count as existing once the step is done.
Status CpuOptimizer::createRowStates(const InitialValues &initial) {
  constexpr size_t valuesPerPart = 64 * 1024;
  auto forNew = [&](auto body) {
    for (RowsRun &run : rowsRuns)
      for (size_t j = 0; j < stateCount() && !run.isSkipped(); ++j)
        if (isOwn(run.param(), j) && stateOrigins[slotOf(run.param(), j)] == StateOrigin::None)
          body(run, j, slotOf(run.param(), j), alignedSize(stateBytes(run.param(), j)));
  };
  size_t total = 0;
  forNew([&](RowsRun &, size_t, size_t slot, size_t bytes) {
    total += statePointers[slot] ? 0 : bytes;
  });
  StateArena arena;
  if (Status status = allocateArena(total, arena); !status.ok())
    return status;

  char *memory = arena.data();
  forNew([&](RowsRun &run, size_t state, size_t slot, size_t bytes) {
    const bool fresh = !statePointers[slot];
    if (fresh && bytes != 0) {
      statePointers[slot] = memory;
      memory += bytes;
    }
    const uint32_t group = params[run.param()].group;
    if (fresh && initial.isZero(group, state))
      return;
    const auto values =
        static_cast<size_t>(params[run.param()].shape.count(interface().states[state].over));
    forParts(pool, values, valuesPerPart, [&](size_t begin, size_t end) {
      initial.fill(group, state, statePointers[slot], static_cast<int64_t>(begin),
                   static_cast<int64_t>(end));
    });
  });
  keepArena(std::move(arena));
  return {};
}

void CpuOptimizer::commitRowStep(RowsRun &run) {
  const size_t param = run.param();
  run.scalars().commitScalars();
  acceptStates(param);
  if (plan->contains(param)) {
    foldSteps();
    plan->discard();
  }
  ++steps[param];
}
