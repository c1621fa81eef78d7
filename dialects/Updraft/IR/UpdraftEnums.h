//===- UpdraftEnums.h - Extents and kinds of reductions -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_UPDRAFTENUMS_H
#define UPDRAFT_IR_UPDRAFTENUMS_H

#include "mlir/IR/OpImplementation.h"

#include "Updraft/IR/UpdraftEnums.h.inc"

namespace updraft {

/// Returns the smallest extent that contains both.
inline Extent join(Extent left, Extent right) {
  return static_cast<Extent>(static_cast<uint32_t>(left) | static_cast<uint32_t>(right));
}

/// Whether a value of extent `inner` is constant over each place of `outer`.
inline bool isWithin(Extent inner, Extent outer) { return join(inner, outer) == outer; }

constexpr MatrixShapes allShapes = MatrixShapes::wide | MatrixShapes::square | MatrixShapes::tall;

/// "_wide_square": the end of the name of a form for these shapes.
std::string suffixOf(MatrixShapes shapes);

/// The bits of an extent that say how a matrix of values goes down, and how it goes along.
constexpr uint32_t downBits = 0b0101000;
constexpr uint32_t alongBits = 0b1010000;

/// Whether the join of two extents is one: a matrix can't go down both rows and columns of the
/// parameter.
inline bool isConsistent(Extent extent) {
  const auto bits = static_cast<uint32_t>(extent);
  return (bits & downBits) != downBits && (bits & alongBits) != alongBits;
}

/// Whether values over the extent differ both down and along a matrix: that of the parameter, its
/// transpose, or a square one.
inline bool isMatrixExtent(Extent extent) {
  const auto bits = static_cast<uint32_t>(extent);
  return (bits & downBits) != 0 && (bits & alongBits) != 0;
}

/// Whether values over the extent are square matrices, one for each batch.
inline bool isSquareExtent(Extent extent) {
  return extent == Extent::rows_by_rows || extent == Extent::columns_by_columns;
}

/// Whether values over the extent can be in memory: they vary within the parameter, or are a square
/// matrix. Transposed matrices exist only in rules.
inline bool isInMemoryExtent(Extent extent) {
  return isSquareExtent(extent) ||
         (isWithin(extent, Extent::element) && !isWithin(extent, Extent::tensor));
}

/// Whether `over` has one value per row, column or batch of a matrix.
inline bool isOfMatrix(Extent over) {
  return !isWithin(over, Extent::tensor) && !isMatrixExtent(over);
}

/// Whether only a rule or plan with `matrix` has values over the extent.
inline bool needsMatrix(Extent extent) {
  return !isWithin(extent, Extent::tensor) && extent != Extent::element;
}

/// Returns the extent of the transpose of values over `extent`.
inline Extent transposed(Extent extent) {
  const auto bits = static_cast<uint32_t>(extent);
  // Rows down (8) become rows along (64), and columns along (16) become columns down (32).
  return static_cast<Extent>((bits & ~(downBits | alongBits)) | (bits & 8) << 3 | (bits & 64) >> 3 |
                             (bits & 16) << 1 | (bits & 32) >> 1);
}

/// Returns the extent of the product of matrices of values over `lhs` and `rhs`.
inline Extent productOf(Extent lhs, Extent rhs) {
  return static_cast<Extent>((static_cast<uint32_t>(lhs) & ~alongBits) |
                             (static_cast<uint32_t>(rhs) & ~downBits));
}

/// Returns the extent of square matrices with as many rows as a matrix over `matrix`.
inline Extent squareOfRows(Extent matrix) { return productOf(matrix, transposed(matrix)); }

/// Whether the second extent of a matrix over `lhs` is the first one of a matrix over `rhs`, so
/// that they have a product.
inline bool haveProduct(Extent lhs, Extent rhs) {
  return isMatrixExtent(lhs) && isMatrixExtent(rhs) &&
         (static_cast<uint32_t>(transposed(lhs)) & downBits) ==
             (static_cast<uint32_t>(rhs) & downBits);
}

} // namespace updraft

#endif // UPDRAFT_IR_UPDRAFTENUMS_H
