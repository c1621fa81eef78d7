//===- CpuOptimizerRows.cpp - A step of some rows ---------------------------------------------===//

#include "runtime/cpu/CpuOptimizer.h"

#include "runtime/base/DType.h"
#include "runtime/cpu/PoolParts.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace updraft::runtime;

/// How many first dimensions of the parameter count the rows: none of a scalar, which is one.
static int32_t indexDimsOf(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  return std::min(std::max(rowGrad.index_dims, 1), layout.rank);
}

static int64_t rowsOf(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  int64_t rows = 1;
  for (int32_t i = 0; i < indexDimsOf(rowGrad, layout); ++i)
    rows *= layout.shape[i];
  return rows;
}

static int64_t elementsOfRow(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  return layout.elements == 0 ? 0 : layout.elements / rowsOf(rowGrad, layout);
}

/// Whether each row is one run of memory.
static bool hasRowsApart(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  const int64_t rowElements = elementsOfRow(rowGrad, layout);
  for (int32_t i = 0; i < indexDimsOf(rowGrad, layout); ++i)
    if (layout.shape[i] > 1 && layout.strides[i] < rowElements)
      return false;
  return true;
}

Status CpuOptimizer::checkRowIndices(const upd_row_grad &rowGrad) const {
  const std::string &name = names[rowGrad.param];
  const int64_t rows = rowsOf(rowGrad, params[rowGrad.param].layout);
  if (rowGrad.index_count > static_cast<size_t>(rows))
    return invalidArgument(fmt::format("there are {} indices for the {} rows of parameter `{}`; "
                                       "give each row once",
                                       rowGrad.index_count, rows, name));
  if (rowGrad.index_count != 0 && !rowGrad.indices)
    return invalidArgument(fmt::format("the indices of parameter `{}` are null, but index_count "
                                       "is {}",
                                       name, rowGrad.index_count));
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

Status CpuOptimizer::checkRowValues(const upd_row_grad &rowGrad) const {
  const TensorLayout &layout = params[rowGrad.param].layout;
  const int32_t dims = indexDimsOf(rowGrad, layout);
  const int64_t rowElements = elementsOfRow(rowGrad, layout);
  std::vector<int64_t> shape{static_cast<int64_t>(rowGrad.index_count)}, strides{rowElements};
  shape.insert(shape.end(), layout.shape + dims, layout.shape + layout.rank);
  strides.insert(strides.end(), layout.strides + dims, layout.strides + layout.rank);
  TensorLayout expected;
  expected.shape = shape.data();
  expected.strides = strides.data();
  expected.rank = static_cast<int32_t>(shape.size());
  expected.elements = shape[0] * rowElements;
  for (int64_t i = expected.rank - 1, stride = 1; i >= 0; stride *= shape[i--])
    expected.rowMajor &= strides[i] == stride || shape[i] == 1;
  const std::string subject = fmt::format("gradient of parameter `{}`", names[rowGrad.param]);
  if (!hasLayout(rowGrad.values, expected))
    return invalidArgument(
        otherLayoutText(subject, rowGrad.values, expected,
                        shape[0] == 1 ? "one of 1 row" : fmt::format("one of {} rows", shape[0])));
  if (Status status = checkMemory(rowGrad.values, device, interface().grad, expected.elements,
                                  subject, "gradients");
      !status.ok())
    return status;
  const MemoryRange range(rowGrad.values.data,
                          static_cast<size_t>(expected.elements) * sizeOf(interface().grad),
                          static_cast<uint32_t>(rowGrad.param), 0);
  if (const MemoryRange *owner = range.empty() ? nullptr : owned.find(range))
    return invalidArgument(fmt::format("{} overlaps {}; a step only reads gradients, so give it "
                                       "memory of its own",
                                       subject, ownerText(*owner, range)));
  return {};
}

Status CpuOptimizer::checkRowGradient(const upd_row_grad &rowGrad) const {
  if (Status status = checkParam(rowGrad.param); !status.ok())
    return status;
  const Param &param = params[rowGrad.param];
  const std::string &name = names[rowGrad.param];
  const PlanInterface &planOfParam = interface().plans[param.plan];
  if (const std::string reason = RowsRun::refusal(interface(), planOfParam); !reason.empty())
    return invalidArgument(fmt::format("rule `{}` cannot step some rows of parameter `{}`: {}; "
                                       "give a gradient of the whole parameter",
                                       interface().name, name, reason));
  const TensorLayout &layout = param.layout;
  if (rowGrad.index_dims < 0 || rowGrad.index_dims > std::max(layout.rank, 1))
    return invalidArgument(fmt::format("index_dims of parameter `{}` is {}, but it has {} "
                                       "dimensions; give how many of them count the rows",
                                       name, rowGrad.index_dims, layout.rank));
  if (RowsRun::needsMatrix(interface(), planOfParam)) {
    if (layout.rank != 2)
      return invalidArgument(fmt::format(
          "parameter `{}` has {} dimensions, but rule `{}` works on the rows of matrices; give a "
          "gradient of the whole parameter",
          name, layout.rank, interface().name));
    if (rowGrad.index_dims > 1)
      return invalidArgument(fmt::format(
          "the gradient of parameter `{}` has single elements, but rule `{}` works on the rows of "
          "matrices; give whole rows",
          name, interface().name));
  }
  if (layout.elements != 0 && !hasRowsApart(rowGrad, layout)) {
    upd_tensor tensor{};
    tensor.shape = layout.shape;
    tensor.strides = layout.strides;
    tensor.rank = layout.rank;
    return invalidArgument(fmt::format("parameter `{}` is {}, so its rows are not apart in memory; "
                                       "give a gradient of the whole parameter",
                                       name, layoutText(tensor)));
  }
  // Only the rows of the first step would get such a value.
  for (const StateInterface &state : interface().states)
    if (state.fromStep && !isScalar(state.over) && state.isOf(planOfParam.tensors) &&
        isFirst(rowGrad.param))
      return invalidArgument(fmt::format(
          "parameter `{}` has taken no step, and its state `{}` starts from the parameter, its "
          "gradient or the step count, for all rows at once; give a gradient of the whole "
          "parameter first",
          name, state.name));
  if (Status status = checkRowIndices(rowGrad); !status.ok())
    return status;
  if (Status status = checkRowValues(rowGrad); !status.ok())
    return status;
  return checkBoundStates(rowGrad.param);
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

/// All states of the parameter have memory.
void CpuOptimizer::setRowStates(RowsRun &run) const {
  const size_t param = run.param();
  for (size_t j = StreamIndex::FirstState; j < run.streamInterfaces().size(); ++j)
    if (const uint32_t state = run.streamInterfaces()[j].state; state != StreamInterface::none)
      run.setStream(j, statePointers[slotOf(param, state)]);
  const std::vector<uint32_t> scalars =
      interface().scalarStatesOf(interface().plans[params[param].plan]);
  for (size_t j = 0; j < scalars.size(); ++j)
    run.scalars().setScalar(0, j, statePointers[slotOf(param, scalars[j])]);
}

/// Memory for the states of the parameters that have none and are not skipped, and their initial
/// values. They count as there once the step is done.
Status CpuOptimizer::createRowStates(const InitialValues &initial) {
  constexpr size_t valuesPerPart = 64 * 1024;
  auto forNew = [&](auto body) {
    for (RowsRun &run : rowsRuns)
      for (size_t j = 0; j < stateCount() && !run.isSkipped(); ++j)
        if (isOwn(run.param(), j) && stateOrigins[slotOf(run.param(), j)] == StateOrigin::None)
          body(run, j, slotOf(run.param(), j), alignedBytes(stateBytes(run.param(), j)));
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
  if (plan.contains(param)) {
    foldSteps();
    plan.discard();
  }
  ++steps[param];
}
