//===- RowMajorRuns.h - A dense tensor in the order of its indices ------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_ROWMAJORRUNS_H
#define UPDRAFT_RUNTIME_OPTIMIZER_ROWMAJORRUNS_H

#include "runtime/optimizer/TensorLayout.h"

namespace updraft::runtime {

/// Visits the elements row-major, as files hold them, wherever they lie in memory: runs along the
/// last dimension; or, of a tensor that is row-major in memory, everything as one.
class RowMajorRuns {
public:
  explicit RowMajorRuns(const TensorLayout &layout);

  /// Where the run starts, how far apart its elements are, and how many they are, in elements.
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
  int64_t left = 0;       // runs
  int64_t index[maxRank]; // of the run
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_ROWMAJORRUNS_H
