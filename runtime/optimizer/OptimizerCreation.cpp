//===- OptimizerCreation.cpp - Creating an optimizer ------------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/Utf8.h"
#include "runtime/optimizer/Optimizer.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <unordered_set>

using namespace updraft::runtime;

Optimizer::Optimizer(std::shared_ptr<const Kernels> kernelsToUse, TensorDevice deviceToUse,
                     const upd_pool &poolToUse)
    : kernels(std::move(kernelsToUse)), device(deviceToUse), pool(poolToUse), hypers(kernels) {}

Status Optimizer::checkArguments(const upd_group *groups, size_t groupCount, const upd_pool *pool) {
  if (groupCount != 0 && !groups)
    return invalidArgument(fmt::format("groups is null, but group_count is {}", groupCount));
  if (pool && (!pool->run || !pool->thread_count))
    return invalidArgument("run or thread_count of the pool is null; give both, or no pool");
  return {};
}

/// The rows that the ring of probes keeps, and the steps of all parameters, at least.
static constexpr size_t minProbeRows = 1 << 14, minProbeSteps = 16;

Status Optimizer::addGroups(const upd_group *groups, size_t groupCount) {
  size_t total = 0, sizes = 0;
  for (size_t i = 0; i < groupCount; ++i) {
    const upd_group &group = groups[i];
    if (group.param_count != 0 && !group.params)
      return invalidArgument(
          fmt::format("params of group {} is null, but param_count is {}", i, group.param_count));
    if (group.param_count > PlannedParams::absent - 1 - total)
      return invalidArgument("there are more than 2^32 - 2 parameters");
    total += group.param_count;
    for (size_t j = 0; j < group.param_count; ++j)
      if (group.params[j].rank > 0 && group.params[j].rank <= maxRank)
        sizes += 2 * static_cast<size_t>(group.params[j].rank);
  }
  size_t next = 0;
  for (size_t i = 0; i < groupCount; ++i) {
    groupStarts.push_back(next);
    next += groups[i].param_count;
  }
  params.reserve(total);
  names.reserve(total);
  dimensions.reserve(sizes); // the layouts point into it
  for (size_t i = 0; i < groupCount; ++i) {
    if (Status status = hypers.addGroup(groups[i].hypers, groups[i].hyper_count); !status.ok())
      return status;
    for (size_t j = 0; j < groups[i].param_count; ++j) {
      const char *name = groups[i].names ? groups[i].names[j] : nullptr;
      if (groups[i].names && !name)
        return invalidArgument(fmt::format("the name of parameter {} of group {} is null", j, i));
      if (name && !isUtf8(name))
        return invalidArgument(fmt::format(
            "the name of parameter {} of group {} is not UTF-8, which files of states require", j,
            i));
      if (Status status = addParam(groups[i].params[j], name, static_cast<uint32_t>(i));
          !status.ok())
        return status;
    }
  }
  addStateLayouts();
  probes = std::make_unique<ProbeRing>(std::max<size_t>(minProbeRows, minProbeSteps * total),
                                       interface().probes.size());
  for (const Param &param : params)
    expectedShapes.push_back({param.layout.rank == 1 ? *param.layout.shape : 0, param.layout.rank});
  ownAddresses.resize(total);
  checkedGrads.resize(total);
  changedGrads.reserve(total);
  statePointers.resize(total * stateCount());
  stateOrigins.resize(total * stateCount());
  if (Status status = checkNames(); !status.ok())
    return status;
  return checkParamsApart();
}

Status Optimizer::addParam(const upd_tensor &tensor, const char *name, uint32_t group) {
  names.push_back(name ? std::string(name) : std::to_string(params.size()));
  const std::string subject = fmt::format("parameter `{}`", names.back());
  TensorLayout layout;
  if (Status status = readLayout(tensor, subject, dimensions, layout); !status.ok())
    return status;
  if (Status status =
          checkMemory(tensor, device, interface().param, layout.elements, subject, "parameters");
      !status.ok())
    return status;
  if (tensor.read_only)
    return invalidArgument(
        fmt::format("{} is read-only, but a step writes it; give a copy that is not", subject));
  params.push_back({tensor.data, layout, shapeOf(layout), group, 0});
  return choosePlan(params.back());
}

static bool hasRowMajorMatrices(const TensorLayout &layout) {
  const int32_t columns = layout.rank - 1, rows = layout.rank - 2;
  if (layout.elements == 0)
    return true;
  return (layout.shape[columns] == 1 || layout.strides[columns] == 1) &&
         (layout.shape[rows] == 1 || layout.strides[rows] == layout.shape[columns]);
}

/// Refuses a parameter for which a function of the plan would get more rows or columns than LAPACK
/// takes.
static Status checkCalls(const PlanInterface &plan, const TensorLayout &layout,
                         const std::string &name) {
  TensorShape shape = shapeOf(layout);
  shape.chosen = plan.chosenOf(shape.rows, shape.columns);
  for (const CallInterface &call : plan.calls)
    for (const uint32_t operand : call.operands) {
      const TensorShape matrix = shape.of(plan.streams[operand].over);
      const int64_t limit = isEigenproblem(call.function) ? maxEigenproblemRows : INT32_MAX;
      if (matrix.rows <= limit && matrix.columns <= limit)
        continue;
      return invalidArgument(fmt::format(
          "parameter `{}` is {}, so `{}` would take a matrix of {} x {}; it takes at "
          "most {} rows and columns",
          name, shapeText(layout), nameOf(call.function), matrix.rows, matrix.columns, limit));
    }
  return {};
}

Status Optimizer::choosePlan(Param &param) const {
  const TensorClass own = param.layout.rank < 2 ? TensorClass::Vector : TensorClass::Matrix;
  const TensorShape shape = shapeOf(param.layout);
  const std::vector<PlanInterface> &plans = interface().plans;
  auto found = std::find_if(plans.begin(), plans.end(), [&](const PlanInterface &plan) {
    return plan.isFor(own, shape.rows, shape.columns);
  });
  if (found == plans.end())
    return invalidArgument(fmt::format(
        "parameter `{}` has {}, but rule `{}` is for tensors of {}", names.back(),
        param.layout.rank == 1 ? "1 dimension" : fmt::format("{} dimensions", param.layout.rank),
        interface().name, own == TensorClass::Vector ? "two or more" : "less than two"));
  param.plan = static_cast<uint32_t>(found - plans.begin());
  const bool isProbed = !interface().probes.empty();
  const bool usesRows =
      found->usesRows() || (isProbed && plans[interface().probedPlanOf(param.plan)].usesRows());
  if (own == TensorClass::Matrix && usesRows && !hasRowMajorMatrices(param.layout)) {
    return invalidArgument(
        fmt::format("parameter `{}` is {}, but rule `{}` works on rows and columns; give a tensor "
                    "whose last two dimensions are row-major",
                    names.back(), layoutText(param.layout), interface().name));
  }
  if (!param.layout.rowMajor && hasBlocks(found->tensors)) {
    return invalidArgument(fmt::format("parameter `{}` is {}, but rule `{}` has states in blocks "
                                       "of {} elements in row-major order; give a row-major tensor",
                                       names.back(), layoutText(param.layout), interface().name,
                                       int(UPD_QUANT_BLOCK)));
  }
  for (size_t i = param.plan; i < plans.size(); i += interface().unprobedPlans()) {
    if (Status status = checkCalls(plans[i], param.layout, names.back()); !status.ok())
      return status;
    if (Status status = checkSquareMatrices(param, plans[i]); !status.ok())
      return status;
  }
  return {};
}

/// Refuses a parameter of which a plan has square matrices, states or temporaries, that would be
/// too large. A parameter without elements may have any number of columns, so that their square
/// doesn't fit 64 bits.
Status Optimizer::checkSquareMatrices(const Param &param, const PlanInterface &plan) const {
  constexpr int64_t maxElements = int64_t(1) << 40;
  for (const StreamInterface &stream : plan.streams) {
    if (!isSquare(stream.over))
      continue;
    const TensorShape matrices = param.shape.of(stream.over);
    int64_t elements = 0;
    if (!__builtin_mul_overflow(matrices.rows, matrices.rows, &elements) &&
        !__builtin_mul_overflow(elements, matrices.batches, &elements) && elements <= maxElements)
      continue;
    const bool isState = stream.state != StreamInterface::none;
    return invalidArgument(fmt::format(
        "parameter `{}` is {}, so {} would have matrices of {} x {}; a parameter's square matrices "
        "have at most 2^40 elements",
        names.back(), shapeText(param.layout),
        isState ? fmt::format("its state `{}`", interface().states[stream.state].name)
                : std::string("a step"),
        matrices.rows, matrices.rows));
  }
  return {};
}

bool Optimizer::hasBlocks(TensorClass plan) const {
  return std::any_of(
      interface().states.begin(), interface().states.end(),
      [&](const StateInterface &state) { return isBlocked(state.dtype) && state.isOf(plan); });
}

void Optimizer::addStateLayouts() {
  const auto &states = interface().states;
  const bool hasRows = std::any_of(states.begin(), states.end(), [](const StateInterface &state) {
    return state.over == Extent::Row || state.over == Extent::Column;
  });
  const bool hasSquares =
      std::any_of(states.begin(), states.end(),
                  [](const StateInterface &state) { return isSquare(state.over); });
  const bool hasScales = std::any_of(states.begin(), states.end(), [](const StateInterface &state) {
    return isBlocked(state.dtype);
  });
  size_t total = 0;
  for (const Param &param : params) {
    const auto rank = static_cast<size_t>(std::max(param.layout.rank, 1));
    total += (hasRows ? 4 * rank : 0) + (hasSquares ? 4 * rank : 0) + (hasScales ? 2 * rank : 0);
  }
  stateDimensions.reserve(total); // the layouts point into it
  if (hasRows)
    addRowLayouts();
  if (hasSquares)
    addSquareLayouts();
  if (hasScales)
    addScaleLayouts();
}

/// Scales form one row or, for matrices, one for each row of the parameter, which is row-major.
void Optimizer::addScaleLayouts() {
  scaleLayouts.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    const bool byRows = interface().plans[params[i].plan].tensors == TensorClass::Matrix;
    const size_t start = stateDimensions.size();
    if (byRows)
      stateDimensions.insert(stateDimensions.end(), params[i].layout.shape,
                             params[i].layout.shape + params[i].layout.rank - 1);
    stateDimensions.push_back(blocksOf(i).perSequence());
    const size_t rank = stateDimensions.size() - start;
    stateDimensions.resize(start + 2 * rank);
    int64_t *sizes = stateDimensions.data() + start, *strides = sizes + rank, stride = 1;
    for (size_t j = rank; j-- > 0;) {
      strides[j] = stride;
      stride *= std::max<int64_t>(sizes[j], 1);
    }
    scaleLayouts[i] = {sizes, strides, blocksOf(i).count(), static_cast<int32_t>(rank), true};
  }
}

/// States over rows have one column, and states over columns one row.
void Optimizer::addRowLayouts() {
  rowLayouts.resize(params.size());
  columnLayouts.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    addMatrixLayout(i, params[i].shape.rows, 1, rowLayouts[i]);
    addMatrixLayout(i, 1, params[i].shape.columns, columnLayouts[i]);
  }
}

/// States over square matrices have one for each matrix of the parameter.
void Optimizer::addSquareLayouts() {
  rowSquareLayouts.resize(params.size());
  columnSquareLayouts.resize(params.size());
  // Only the sizes of existing states have been checked.
  auto has = [&](Extent over) {
    return std::any_of(interface().states.begin(), interface().states.end(),
                       [&](const StateInterface &state) { return state.over == over; });
  };
  const bool byRows = has(Extent::RowsByRows), byColumns = has(Extent::ColumnsByColumns);
  for (size_t i = 0; i < params.size(); ++i) {
    const TensorShape &shape = params[i].shape;
    if (byRows)
      addMatrixLayout(i, shape.rows, shape.rows, rowSquareLayouts[i]);
    if (byColumns)
      addMatrixLayout(i, shape.columns, shape.columns, columnSquareLayouts[i]);
  }
}

/// Sets `result` to the layout of a state with a matrix of this size for each matrix of a
/// parameter. The batches are in the parameter's order in memory. Leaves it alone for vectors.
void Optimizer::addMatrixLayout(size_t param, int64_t rows, int64_t columns, TensorLayout &result) {
  const TensorLayout &layout = params[param].layout;
  const TensorShape &shape = params[param].shape;
  if (layout.rank < 2)
    return;
  const size_t start = stateDimensions.size(), rank = static_cast<size_t>(layout.rank);
  stateDimensions.insert(stateDimensions.end(), layout.shape, layout.shape + rank);
  stateDimensions.insert(stateDimensions.end(), layout.strides, layout.strides + rank);
  int64_t *sizes = stateDimensions.data() + start, *strides = sizes + rank;
  sizes[rank - 2] = rows;
  sizes[rank - 1] = columns;
  const int64_t matrix = shape.rows * shape.columns;
  strides[rank - 1] = 1;
  strides[rank - 2] = columns;
  int64_t rowMajor = rows * columns;
  result.rowMajor = true;
  for (size_t j = rank - 2; j-- > 0;) {
    // A tensor without elements is row-major.
    strides[j] = matrix == 0 ? rowMajor : layout.strides[j] / matrix * rows * columns;
    result.rowMajor &= strides[j] == rowMajor || sizes[j] == 1;
    rowMajor *= std::max<int64_t>(sizes[j], 1);
  }
  result.shape = sizes;
  result.strides = strides;
  result.rank = layout.rank;
  result.elements = shape.batches * rows * columns;
}

Status Optimizer::checkNames() const {
  std::unordered_set<std::string_view> seen;
  for (const std::string &name : names) {
    if (name.empty())
      return invalidArgument("the name of a parameter is empty");
    if (!seen.insert(name).second)
      return invalidArgument(
          fmt::format("two parameters have the name `{}`; names are unique over all groups", name));
  }
  return {};
}

Status Optimizer::checkParamsApart() {
  std::vector<MemoryRange> ranges;
  ranges.reserve(params.size());
  for (size_t i = 0; i < params.size(); ++i)
    ranges.emplace_back(params[i].data,
                        static_cast<size_t>(params[i].layout.elements) * sizeOf(interface().param),
                        static_cast<uint32_t>(i), paramPart);
  const MemoryRange *first = nullptr, *second = nullptr;
  if (owned.assign(std::move(ranges), first, second))
    return {};
  const size_t a = std::min(first->owner, second->owner), b = std::max(first->owner, second->owner);
  return invalidArgument(fmt::format(
      "parameters `{}` and `{}` overlap in memory; give each tensor once", names[a], names[b]));
}
