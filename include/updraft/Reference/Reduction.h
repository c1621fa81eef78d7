//===- Reduction.h - The order of operations in reductions --------------------------*- C++ -*-===//
// Defines the order of operations of every reduction (docs/dialect.md) as plain functions. Every
// implementation of a rule must produce the same bits. All values are double. The maximum is NaN if
// any value is NaN; the sum of no values is 0, their maximum -infinity.

#ifndef UPDRAFT_REFERENCE_REDUCTION_H
#define UPDRAFT_REFERENCE_REDUCTION_H

#include "Updraft/IR/UpdraftEnums.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace updraft::reference {

/// The shape of a tensor. The last two of two or more dimensions are rows and columns, leading
/// dimensions are batches. A vector is one row.
struct Shape {
  int64_t batches = 1;
  int64_t rows = 1;
  int64_t columns = 0;
  int64_t chosen = 0; // rows or columns that a rule chooses

  static Shape vector(int64_t count) { return {1, 1, count}; }
  static Shape of(llvm::ArrayRef<int64_t> dimensions);

  int64_t count() const { return batches * rows * columns; }
  /// Returns the number of places of `over`, which is not the group's.
  int64_t places(Extent over) const;
  /// Returns the shape of the matrices over an extent: square, transposed or chosen for some.
  Shape of(Extent matrices) const;
};

/// The value at an index.
using ValueAt = llvm::function_ref<double(int64_t)>;

/// Combines neighbours, (0, 1), (2, 3), …, and keeps an odd last value, until one value is left.
double reducePairwise(ReductionKind kind, llvm::ArrayRef<double> values);

/// Reduces a flat sequence: leaves of 8192 values, each dealt to 128 lanes that are halved, then
/// pairwise.
double reduceFlat(ReductionKind kind, int64_t count, ValueAt value);

/// Reduces all elements of a matrix: blocks of 64 rows of a batch, each dealt by columns to 128
/// lanes that are halved, then pairwise over the blocks of all batches.
double reduceBlocks(ReductionKind kind, const Shape &shape, ValueAt element);

/// Reduces one row, or the rows or columns of one batch: values are dealt to 128 lanes that are
/// halved.
double reduceRow(ReductionKind kind, int64_t columns, ValueAt column);

/// Reduces one column of a batch: blocks of 64 rows, each in order, then pairwise.
double reduceColumn(ReductionKind kind, int64_t rows, ValueAt row);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_REDUCTION_H
