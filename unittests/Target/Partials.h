//===- Partials.h - The expected partial results of a sweep -------------------------*- C++ -*-===//
// The interpreter's reductions of single leaves, blocks or rows, for bitwise comparison with
// compiled ones.

#ifndef UPDRAFT_UNITTESTS_TARGET_PARTIALS_H
#define UPDRAFT_UNITTESTS_TARGET_PARTIALS_H

#include "Updraft/IR/UpdraftEnums.h"

#include <cstdint>
#include <vector>

namespace updraft::test {

/// The last two dimensions of a tensor, and the product of the others.
struct MatrixShape {
  int64_t batches, rows, columns;

  int64_t elements() const { return batches * rows * columns; }
  int64_t blocksPerBatch() const;
  int64_t blocks() const { return batches * blocksPerBatch(); }
};

/// One value per leaf of a flat sequence.
std::vector<double> leafPartials(ReductionKind kind, const std::vector<double> &values);

/// One value per block, per row, and per column of each block.
std::vector<double> blockPartials(ReductionKind kind, const std::vector<double> &values,
                                  MatrixShape shape);
std::vector<double> rowTotals(ReductionKind kind, const std::vector<double> &values,
                              MatrixShape shape);
std::vector<double> columnPartials(ReductionKind kind, const std::vector<double> &values,
                                   MatrixShape shape);

/// The bits of an f64; all NaNs have the same.
uint64_t bitsOf(double value);
std::vector<uint64_t> bitsOf(const std::vector<double> &values);

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_PARTIALS_H
