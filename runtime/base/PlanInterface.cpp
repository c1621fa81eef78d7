//===- PlanInterface.cpp - The description of a compiled plan ---------------------------------===//

#include "runtime/base/PlanInterface.h"

#include <algorithm>
#include <cmath>

using namespace updraft::runtime;

const char *updraft::runtime::nameOf(Extent over) {
  switch (over) {
  case Extent::Group:
    return "group";
  case Extent::Tensor:
    return "tensor";
  case Extent::Batch:
    return "batch";
  case Extent::Row:
    return "row";
  case Extent::Column:
    return "column";
  case Extent::Element:
    return "element";
  case Extent::RowsByRows:
    return "rows_by_rows";
  case Extent::ColumnsByColumns:
    return "columns_by_columns";
  case Extent::ChosenByColumns:
    return "chosen_by_columns";
  case Extent::RowsByChosen:
    return "rows_by_chosen";
  case Extent::ChosenByChosen:
    return "chosen_by_chosen";
  }
  return "";
}

Sides updraft::runtime::sidesOf(Extent matrices) {
  switch (matrices) {
  case Extent::RowsByRows:
    return {Side::Rows, Side::Rows};
  case Extent::ColumnsByColumns:
    return {Side::Columns, Side::Columns};
  case Extent::ChosenByColumns:
    return {Side::Chosen, Side::Columns};
  case Extent::RowsByChosen:
    return {Side::Rows, Side::Chosen};
  case Extent::ChosenByChosen:
    return {Side::Chosen, Side::Chosen};
  default:
    return {Side::Rows, Side::Columns};
  }
}

int64_t PlanInterface::chosenOf(int64_t rows, int64_t columns) const {
  return static_cast<int64_t>(std::ceil(chosen * static_cast<double>(std::min(rows, columns))));
}

size_t SweepInterface::scalarReductions() const {
  return static_cast<size_t>(
      std::count_if(reductions.begin(), reductions.end(),
                    [](const ReductionInterface &reduction) { return isScalar(reduction.over); }));
}

bool PlanInterface::usesRows() const {
  return std::any_of(
             streams.begin(), streams.end(),
             [](const StreamInterface &stream) { return stream.over != Extent::Element; }) ||
         std::any_of(sweeps.begin(), sweeps.end(),
                     [](const SweepInterface &sweep) { return sweep.isMatrix; }) ||
         hasWholeMatrices();
}

bool PlanInterface::needsLapack() const {
  return std::any_of(calls.begin(), calls.end(),
                     [](const CallInterface &call) { return runtime::needsLapack(call.function); });
}

bool PlanInterface::areExclusive(const StageInterface &first, const StageInterface &second) const {
  const std::pair<uint32_t, uint32_t> conditions = std::minmax(first.condition, second.condition);
  return std::binary_search(exclusiveConditions.begin(), exclusiveConditions.end(), conditions);
}

size_t PlanInterface::callsEndFrom(size_t stage) const {
  std::vector<uint32_t> made, read;
  for (size_t next = stage; next < sequence.size(); ++next) {
    if (sequence[next].kind != StageInterface::Kind::Call)
      return next;
    const CallInterface &call = calls[sequence[next].index];
    auto isIn = [](const std::vector<uint32_t> &list, uint32_t stream) {
      return std::find(list.begin(), list.end(), stream) != list.end();
    };
    if (isIn(made, call.result) || isIn(read, call.result) ||
        std::any_of(call.operands.begin(), call.operands.end(),
                    [&](uint32_t operand) { return isIn(made, operand); }))
      return next;
    made.push_back(call.result);
    read.insert(read.end(), call.operands.begin(), call.operands.end());
  }
  return sequence.size();
}

const CallInterface *PlanInterface::hostCall() const {
  const auto found = std::find_if(calls.begin(), calls.end(), [](const CallInterface &call) {
    return !hasKernel(call.function);
  });
  return found == calls.end() ? nullptr : &*found;
}

bool PlanInterface::hasHostConditions() const {
  return std::any_of(sequence.begin(), sequence.end(), [&](const StageInterface &stage) {
    return stage.kind == StageInterface::Kind::Call && stage.condition != 0 &&
           !hasKernel(calls[stage.index].function);
  });
}

std::vector<ReductionInterface::Kind> PlanInterface::groupReductions() const {
  std::vector<ReductionInterface::Kind> result;
  for (const SweepInterface &sweep : sweeps)
    for (const ReductionInterface &reduction : sweep.reductions)
      if (reduction.over == Extent::Group)
        result.push_back(reduction.kind);
  return result;
}

ScalarReductions PlanInterface::scalarReductions() const {
  ScalarReductions result;
  for (const SweepInterface &sweep : sweeps) {
    std::vector<ScalarReduction> &ofSweep = result.ofSweeps.emplace_back();
    for (const ReductionInterface &reduction : sweep.reductions) {
      if (!isScalar(reduction.over))
        continue;
      const bool ofGroup = reduction.over == Extent::Group;
      ofSweep.push_back({reduction.kind, ofGroup,
                         ofGroup ? static_cast<uint32_t>(result.overGroups.size()) : result.count});
      if (ofGroup)
        result.overGroups.push_back(result.count);
      ++result.count;
    }
  }
  return result;
}
