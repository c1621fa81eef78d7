//===- Reduction.h - The trees in which values become one ---------------------------*- C++ -*-===//
// The order of the operations of every reduction (docs/dialect.md), as plain functions of the
// values: whatever runs a rule has to give these bits. All are in double. The maximum is NaN where
// any value is; the sum of nothing is 0, the maximum of nothing -infinity.

#ifndef UPDRAFT_REFERENCE_REDUCTION_H
#define UPDRAFT_REFERENCE_REDUCTION_H

#include "Updraft/IR/UpdraftEnums.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace updraft::reference {

/// A tensor of two or more dimensions: the last two are rows and columns, leading ones batches. A
/// vector is one row.
struct Shape {
  int64_t batches = 1;
  int64_t rows = 1;
  int64_t columns = 0;

  static Shape vector(int64_t count) { return {1, 1, count}; }
  static Shape of(llvm::ArrayRef<int64_t> dimensions);

  int64_t count() const { return batches * rows * columns; }
  /// Values of one for each place of an extent within `element`.
  int64_t places(Extent over) const;
};

/// The value at an index.
using ValueAt = llvm::function_ref<double(int64_t)>;

/// Neighbours combine, (0, 1), (2, 3), …, an odd last one stays, until one value is left.
double reducePairwise(ReductionKind kind, llvm::ArrayRef<double> values);

/// A flat sequence: leaves of 8192 values, each dealt to 128 lanes that are halved, then pairwise.
double reduceFlat(ReductionKind kind, int64_t count, ValueAt value);

/// All elements of a matrix: blocks of 64 rows of a batch, each dealt by columns to 128 lanes that
/// are halved, then pairwise over the blocks of all batches.
double reduceBlocks(ReductionKind kind, const Shape &shape, ValueAt element);

/// One row, or the rows or columns of one batch: the values are dealt to 128 lanes that are halved.
double reduceRow(ReductionKind kind, int64_t columns, ValueAt column);

/// One column of a batch: blocks of 64 rows, each in order, then pairwise.
double reduceColumn(ReductionKind kind, int64_t rows, ValueAt row);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_REDUCTION_H
