//===- OptimizerRows.cpp - Checking gradients of some rows ------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/optimizer/Optimizer.h"
#include "runtime/optimizer/RowGradient.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft::runtime;

std::string updraft::runtime::rowsRefusal(const RuleInterface &rule, const PlanInterface &plan) {
  if (!plan.products.empty())
    return "it multiplies whole matrices";
  if (!plan.calls.empty())
    return "it has functions of whole matrices";
  for (const SweepInterface &sweep : plan.sweeps) {
    for (const ReductionInterface &reduction : sweep.reductions)
      switch (reduction.over) {
      case Extent::Group:
        return "it reduces over the whole group";
      case Extent::Tensor:
        return "it reduces over whole tensors";
      case Extent::Batch:
        return "it reduces over whole batches";
      case Extent::Column:
        return "it reduces over whole columns";
      case Extent::Row:
      case Extent::Element:
      case Extent::RowsByRows:
      case Extent::ColumnsByColumns:
      case Extent::ChosenByColumns:
      case Extent::RowsByChosen:
      case Extent::ChosenByChosen:
        break;
      }
    if (sweep.over == Extent::Column)
      return "it has values over whole columns";
  }
  for (const StateInterface &state : rule.states)
    if (state.isOf(plan.tensors) && (state.over == Extent::Group || state.over == Extent::Column))
      return fmt::format("its state `{}` is one for {}", state.name,
                         state.over == Extent::Group ? "the group" : "each column");
  for (const StateInterface &state : rule.states)
    if (state.isOf(plan.tensors) && isSquare(state.over))
      return fmt::format("its state `{}` is a square matrix of the whole parameter", state.name);
  for (const SweepInterface &sweep : plan.sweeps)
    if (isSquare(sweep.over))
      return "it has square matrices of the whole parameter";
  for (const StateInterface &state : rule.states)
    if (state.isOf(plan.tensors) && isBlocked(state.dtype))
      return fmt::format("its state `{}` is stored in blocks, which may have elements of several "
                         "rows",
                         state.name);
  if (plan.usesRandom)
    return "its random numbers depend on the place of an element in a whole tensor";
  return {};
}

bool updraft::runtime::rowsNeedMatrix(const PlanInterface &plan) {
  if (plan.tensors == TensorClass::Vector)
    return false;
  return std::any_of(plan.streams.begin(), plan.streams.end(),
                     [](const StreamInterface &stream) { return stream.over == Extent::Row; }) ||
         std::any_of(plan.sweeps.begin(), plan.sweeps.end(),
                     [](const SweepInterface &sweep) { return sweep.isMatrix; });
}

/// The number of first dimensions that count the rows: 0 for a scalar, which has one row.
static int32_t indexDimsOf(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  return std::min(std::max(rowGrad.index_dims, 1), layout.rank);
}

int64_t updraft::runtime::rowsOf(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  int64_t rows = 1;
  for (int32_t i = 0; i < indexDimsOf(rowGrad, layout); ++i)
    rows *= layout.shape[i];
  return rows;
}

int64_t updraft::runtime::elementsOfRow(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  return layout.elements == 0 ? 0 : layout.elements / rowsOf(rowGrad, layout);
}

/// Whether each row is contiguous in memory.
static bool hasRowsApart(const upd_row_grad &rowGrad, const TensorLayout &layout) {
  const int64_t rowElements = elementsOfRow(rowGrad, layout);
  for (int32_t i = 0; i < indexDimsOf(rowGrad, layout); ++i)
    if (layout.shape[i] > 1 && layout.strides[i] < rowElements)
      return false;
  return true;
}

Status Optimizer::checkRowIndices(const upd_row_grad &rowGrad) const {
  const std::string &name = names[rowGrad.param];
  const int64_t rows = rowsOf(rowGrad, params[rowGrad.param].layout);
  if (rowGrad.index_count > static_cast<size_t>(rows))
    return invalidArgument(fmt::format("there are {} indices for the {} rows of parameter `{}`; "
                                       "give each row once",
                                       rowGrad.index_count, rows, name));
  if (rowGrad.index_count == 0)
    return {};
  if (!rowGrad.indices)
    return invalidArgument(fmt::format("the indices of parameter `{}` are null, but index_count "
                                       "is {}",
                                       name, rowGrad.index_count));
  if (reinterpret_cast<uintptr_t>(rowGrad.indices) % alignof(int64_t) != 0)
    return invalidArgument(fmt::format("the indices of parameter `{}` are not aligned: they start "
                                       "at a multiple of {} bytes",
                                       name, alignof(int64_t)));
  return checkIndexValues(rowGrad);
}

Status Optimizer::checkRowValues(const upd_row_grad &rowGrad) const {
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
  expected.rowMajor |= expected.elements == 0;
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

Status Optimizer::checkRowGradient(const upd_row_grad &rowGrad) {
  if (Status status = checkParam(rowGrad.param); !status.ok())
    return status;
  const Param &param = params[rowGrad.param];
  const std::string &name = names[rowGrad.param];
  const PlanInterface &planOfParam = interface().plans[param.plan];
  if (const std::string reason = rowsRefusal(interface(), planOfParam); !reason.empty())
    return invalidArgument(fmt::format("rule `{}` cannot step some rows of parameter `{}`: {}; "
                                       "give a gradient of the whole parameter",
                                       interface().name, name, reason));
  const TensorLayout &layout = param.layout;
  if (rowGrad.index_dims < 0 || rowGrad.index_dims > std::max(layout.rank, 1))
    return invalidArgument(fmt::format("index_dims of parameter `{}` is {}, but it has {} "
                                       "dimensions; give how many of them count the rows",
                                       name, rowGrad.index_dims, layout.rank));
  if (rowsNeedMatrix(planOfParam)) {
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
    return invalidArgument(fmt::format("parameter `{}` is {}, so its rows are not apart in memory; "
                                       "give a gradient of the whole parameter",
                                       name, layoutText(layout)));
  }
  // A first step would give such an initial value only to the listed rows.
  for (const StateInterface &state : interface().states) {
    if (!state.fromStep || isScalar(state.over) || !state.isOf(planOfParam.tensors))
      continue;
    if (Status status = settleStates(); !status.ok())
      return status;
    if (!hasStates(rowGrad.param))
      return invalidArgument(fmt::format(
          "parameter `{}` has taken no step, and its state `{}` starts from the parameter, its "
          "gradient or the step count, for all rows at once; give a gradient of the whole "
          "parameter first",
          name, state.name));
  }
  if (Status status = checkRowIndices(rowGrad); !status.ok())
    return status;
  if (Status status = checkRowValues(rowGrad); !status.ok())
    return status;
  return checkBoundStates(rowGrad.param);
}

Status Optimizer::checkRowGradients(const StepGradients &gradients) {
  if (gradients.rowCount != 0 && !gradients.rows)
    return invalidArgument(
        fmt::format("row_grads is null, but row_grad_count is {}", gradients.rowCount));
  std::vector<size_t> listed;
  for (size_t i = 0; i < gradients.rowCount; ++i) {
    if (Status status = checkRowGradient(gradients.rows[i]); !status.ok())
      return status;
    const size_t param = gradients.rows[i].param;
    listed.push_back(param);
    if (gradients.has(param))
      return invalidArgument(fmt::format("parameter `{}` has a gradient and a gradient of rows; "
                                         "give one of them",
                                         names[param]));
  }
  std::sort(listed.begin(), listed.end());
  if (const auto twice = std::adjacent_find(listed.begin(), listed.end()); twice != listed.end())
    return invalidArgument(
        fmt::format("parameter `{}` has two gradients of rows; give one", names[*twice]));
  return {};
}
