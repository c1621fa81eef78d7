//===- RowMajorRuns.cpp - The elements of a tensor in row-major order -------------------------===//

#include "runtime/optimizer/RowMajorRuns.h"

#include <algorithm>

using namespace updraft::runtime;

RowMajorRuns::RowMajorRuns(const TensorLayout &layoutToVisit) : layout(layoutToVisit) {
  std::fill(index, index + maxRank, 0);
  if (layout.elements == 0)
    return;
  if (layout.rowMajor) {
    runLength = layout.elements;
    left = 1;
    return;
  }
  runStride = layout.strides[layout.rank - 1];
  runLength = layout.shape[layout.rank - 1];
  left = layout.elements / runLength;
}

void RowMajorRuns::next() {
  if (--left == 0)
    return;
  for (int32_t i = layout.rank - 2; i >= 0; --i) {
    offset += layout.strides[i];
    if (++index[i] < layout.shape[i])
      return;
    offset -= layout.strides[i] * layout.shape[i];
    index[i] = 0;
  }
}
