//===- ReductionTree.h - Combining what the leaves of a reduction give --------------*- C++ -*-===//
// The upper part of the reduction tree of docs/numerics.md: pairs (0, 1), (2, 3), …, an odd last
// value passes up, until one is left. Its shape depends on nothing but the number of values.

#ifndef UPDRAFT_RUNTIME_CPU_REDUCTIONTREE_H
#define UPDRAFT_RUNTIME_CPU_REDUCTIONTREE_H

#include "runtime/base/PlanInterface.h"

#include <cmath>
#include <limits>

namespace updraft::runtime {

using ReductionKind = ReductionInterface::Kind;

inline double identityOf(ReductionKind kind) {
  return kind == ReductionKind::Sum ? 0.0 : -std::numeric_limits<double>::infinity();
}

/// A NaN is larger than any number, and 0 larger than -0.
inline double maximumOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// Combines `count` vectors of the `size` values from each multiple of `stride`, in place, into the
/// first of them.
void combineVectors(ReductionKind kind, double *values, int64_t count, int64_t size,
                    int64_t stride);

/// Combines `count` values that are `stride` apart, in place. The identity if there are none.
inline double combineValues(ReductionKind kind, double *values, size_t count, size_t stride) {
  if (count == 0)
    return identityOf(kind);
  if (count != 1)
    combineVectors(kind, values, static_cast<int64_t>(count), 1, static_cast<int64_t>(stride));
  return values[0];
}

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_REDUCTIONTREE_H
