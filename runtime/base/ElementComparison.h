//===- ElementComparison.h - Whether elements have the same bits --------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_ELEMENTCOMPARISON_H
#define UPDRAFT_RUNTIME_BASE_ELEMENTCOMPARISON_H

#include "runtime/base/Safetensors.h"

namespace updraft::runtime {

/// Returns the index of the first elements whose bits differ, or `count`. Any two NaNs are the
/// same: their sign and payload differ between CPUs (docs/numerics.md).
size_t firstDifference(SafetensorsType type, const void *a, const void *b, size_t count);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_ELEMENTCOMPARISON_H
