//===- RowMajorRuns.h - The elements of a tensor in row-major order -----------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_ROWMAJORRUNS_H
#define UPDRAFT_RUNTIME_OPTIMIZER_ROWMAJORRUNS_H

#include "runtime/optimizer/TensorLayout.h"

namespace updraft::runtime {

/// Visits the elements in row-major order, as in files. Each run has the elements along the last
/// dimension or, if the tensor is row-major in memory, all elements.
class RowMajorRuns {
public:
  explicit RowMajorRuns(const TensorLayout &layout);

  /// The start of the run, the stride and the number of its elements. All in elements.
  int64_t start() const { return offset; }
  int64_t stride() const { return runStride; }
  int64_t length() const { return runLength; }

  bool atEnd() const { return left == 0; }
  void next();

private:
  const TensorLayout &layout;
  int64_t runStride = 1;
  int64_t runLength = 0;
  int64_t offset = 0;
  int64_t left = 0;       // runs, including this one
  int64_t index[maxRank]; // of the run's start
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_ROWMAJORRUNS_H
