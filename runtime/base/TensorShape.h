//===- TensorShape.h - A tensor as rows and columns ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_TENSORSHAPE_H
#define UPDRAFT_RUNTIME_BASE_TENSORSHAPE_H

#include "runtime/base/PlanInterface.h"
#include "updraft-c/kernel.h"

namespace updraft::runtime {

/// Batches of rows and columns, as defined in updraft-c/kernel.h. A vector is one row.
struct TensorShape {
  int64_t batches = 1;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t chosen = 0; ///< rows or columns that a plan chooses; 0 outside of plans

  /// The shape of the matrices of values over `extent`.
  TensorShape of(Extent extent) const {
    if (!isMatrix(extent))
      return *this;
    auto length = [&](Side side) {
      return side == Side::Rows ? rows : side == Side::Columns ? columns : chosen;
    };
    const Sides sides = sidesOf(extent);
    return {batches, length(sides.down), length(sides.along)};
  }

  int64_t elements() const { return batches * rows * columns; }
  int64_t blocksPerBatch() const { return (rows + UPD_BLOCK_ROWS - 1) / UPD_BLOCK_ROWS; }
  int64_t blocks() const { return batches * blocksPerBatch(); }
  /// The start of block `index`, in elements. For the number of blocks, the end of the last one.
  int64_t blockStart(int64_t index) const {
    const int64_t perBatch = blocksPerBatch();
    return perBatch == 0 ? 0
                         : (index / perBatch * rows + index % perBatch * UPD_BLOCK_ROWS) * columns;
  }

  /// The number of values per tensor of a state or temporary over `extent`.
  int64_t count(Extent extent) const {
    switch (extent) {
    case Extent::Element:
      return elements();
    case Extent::Batch:
      return batches;
    case Extent::Row:
      return batches * rows;
    case Extent::Column:
      return batches * columns;
    case Extent::RowsByRows:
    case Extent::ColumnsByColumns:
    case Extent::ChosenByColumns:
    case Extent::RowsByChosen:
    case Extent::ChosenByChosen:
      return of(extent).elements();
    case Extent::Tensor:
    case Extent::Group:
      return 1;
    }
    return 0;
  }
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_TENSORSHAPE_H
