//===- StepPartition.cpp - The distribution of elements over threads --------------------------===//

#include "runtime/cpu/StepPartition.h"

#include <algorithm>

using namespace updraft::runtime;

int64_t StepPartition::target(int64_t total, size_t part, size_t parts) {
  const auto count = static_cast<int64_t>(parts), index = static_cast<int64_t>(part);
  // Avoids total * index, which may overflow.
  return total / count * index + total % count * index / count;
}

StepBoundary StepPartition::boundary(size_t tensor, int64_t end, int64_t offset, int64_t unitCost,
                                     int64_t unit) {
  const int64_t position = (std::max<int64_t>(offset, 0) + unitCost / 2) / unitCost * unit;
  // A boundary at the end of a tensor is stored as the start of the next one.
  return position < end ? StepBoundary{tensor, position} : StepBoundary{tensor + 1, 0};
}
