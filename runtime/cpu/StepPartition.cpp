//===- StepPartition.cpp - Which thread runs which elements -----------------------------------===//

#include "runtime/cpu/StepPartition.h"

#include "updraft-c/kernel.h"

#include <algorithm>

using namespace updraft::runtime;

int64_t StepPartition::target(int64_t total, size_t part, size_t parts) {
  const auto count = static_cast<int64_t>(parts), index = static_cast<int64_t>(part);
  // total * index may overflow; the remainder's product is small.
  return total / count * index + total % count * index / count;
}

StepBoundary StepPartition::boundary(size_t tensor, int64_t elements, int64_t offset) {
  const int64_t half = UPD_LEAF_ELEMENTS / 2;
  const int64_t element =
      (std::max<int64_t>(offset, 0) + half) / UPD_LEAF_ELEMENTS * UPD_LEAF_ELEMENTS;
  // A cut at the end of a tensor is one at the start of the next.
  return element < elements ? StepBoundary{tensor, element} : StepBoundary{tensor + 1, 0};
}
