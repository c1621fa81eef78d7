//===- ReductionModel.h - The reduction tree in plain C++ ---------------------------*- C++ -*-===//
// What compiled reductions are compared with, bit for bit: the tree of updraft-c/kernel.h, one
// value at a time.

#ifndef UPDRAFT_UNITTESTS_TARGET_REDUCTIONMODEL_H
#define UPDRAFT_UNITTESTS_TARGET_REDUCTIONMODEL_H

#include <cstdint>
#include <vector>

namespace updraft::test {

enum class Kind { sum, max };

/// An IEEE sum, or the maximum that is NaN where a value is, and takes +0 for larger than -0.
double combine(Kind kind, double left, double right);
double identityOf(Kind kind);

/// The last two dimensions of a tensor, and what is before them.
struct MatrixShape {
  int64_t batches, rows, columns;

  int64_t elements() const { return batches * rows * columns; }
  int64_t blocksPerBatch() const;
  int64_t blocks() const { return batches * blocksPerBatch(); }
};

/// One value per leaf of a flat sequence.
std::vector<double> leafPartials(Kind kind, const std::vector<double> &values);

/// One value per block, per row, and per column of each block.
std::vector<double> blockPartials(Kind kind, const std::vector<double> &values, MatrixShape shape);
std::vector<double> rowTotals(Kind kind, const std::vector<double> &values, MatrixShape shape);
std::vector<double> columnPartials(Kind kind, const std::vector<double> &values, MatrixShape shape);

/// The bits of an f64; one of all NaNs.
uint64_t bitsOf(double value);
std::vector<uint64_t> bitsOf(const std::vector<double> &values);

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_REDUCTIONMODEL_H
