//===- ReductionTree.cpp - Combining the results of the leaves of a reduction -----------------===//

#include "runtime/cpu/ReductionTree.h"

using namespace updraft::runtime;

template <typename Combine>
static void combinePairs(double *values, int64_t count, int64_t size, int64_t stride,
                         Combine combine) {
  for (int64_t distance = 1; distance < count; distance *= 2)
    for (int64_t i = 0; i + distance < count; i += 2 * distance) {
      double *left = values + i * stride;
      const double *right = left + distance * stride;
      for (int64_t j = 0; j < size; ++j)
        left[j] = combine(left[j], right[j]);
    }
}

void updraft::runtime::combineVectors(ReductionKind kind, double *values, int64_t count,
                                      int64_t size, int64_t stride) {
  if (kind == ReductionKind::Sum)
    combinePairs(values, count, size, stride, [](double a, double b) { return a + b; });
  else
    combinePairs(values, count, size, stride, maximumOf);
}
