//===- ReductionTree.h - Combining the results of the leaves of a reduction ---------*- C++ -*-===//
// The upper part of the reduction tree (docs/dialect.md): combines pairs (0, 1), (2, 3), … until
// one value is left. an odd last value passes up. The shape depends only on the number of values.

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

/// NaN is larger than any number, and 0 is larger than -0.
inline double maximumOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// Combines `count` vectors of `size` values, which start at multiples of `stride`, into the first.
/// Overwrites the others.
void combineVectors(ReductionKind kind, double *values, int64_t count, int64_t size,
                    int64_t stride);

/// Combines `count` values, `stride` apart, in place. Returns the identity if there are none.
inline double combineValues(ReductionKind kind, double *values, size_t count, size_t stride) {
  if (count == 0)
    return identityOf(kind);
  if (count != 1)
    combineVectors(kind, values, static_cast<int64_t>(count), 1, static_cast<int64_t>(stride));
  return values[0];
}

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_REDUCTIONTREE_H
