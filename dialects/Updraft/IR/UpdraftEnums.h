//===- UpdraftEnums.h - Extents and kinds of reductions -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_UPDRAFTENUMS_H
#define UPDRAFT_IR_UPDRAFTENUMS_H

#include "mlir/IR/OpImplementation.h"

#include "Updraft/IR/UpdraftEnums.h.inc"

#include <bit>

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
constexpr uint32_t downBits = 0b010101000;
constexpr uint32_t alongBits = 0b101010000;

/// Whether the join of two extents is one: a matrix can't go down both rows and columns of the
/// parameter.
inline bool isConsistent(Extent extent) {
  const auto bits = static_cast<uint32_t>(extent);
  return std::popcount(bits & downBits) <= 1 && std::popcount(bits & alongBits) <= 1;
}

/// Whether values over the extent differ both down and along a matrix: that of the parameter, its
/// transpose, a square one, or one of chosen rows or columns.
inline bool isMatrixExtent(Extent extent) {
  const auto bits = static_cast<uint32_t>(extent);
  return (bits & downBits) != 0 && (bits & alongBits) != 0;
}

/// Whether values over the extent are square matrices of all rows or columns, one for each batch.
inline bool isSquareExtent(Extent extent) {
  return extent == Extent::rows_by_rows || extent == Extent::columns_by_columns;
}

/// Whether values over the extent are a matrix of chosen rows or columns as it can be in memory.
inline bool isChosenExtent(Extent extent) {
  return extent == Extent::chosen_by_columns || extent == Extent::rows_by_chosen ||
         extent == Extent::chosen_by_chosen;
}

/// Whether values over the extent differ down or along chosen rows or columns.
inline bool hasChosen(Extent extent) { return (static_cast<uint32_t>(extent) & (128 | 256)) != 0; }

/// Whether a matrix of values over the extent has chosen rows or columns down.
inline bool hasChosenDown(Extent matrix) { return (static_cast<uint32_t>(matrix) & 128) != 0; }

/// Whether values over the extent can be in memory: they vary within the parameter, or are a square
/// matrix or one of chosen rows or columns. Transposed matrices exist only in rules.
inline bool isInMemoryExtent(Extent extent) {
  return isSquareExtent(extent) || isChosenExtent(extent) ||
         (isWithin(extent, Extent::element) && !isWithin(extent, Extent::tensor));
}

/// Whether values over the extent are a matrix that lies in memory as its transpose: with columns
/// of the parameter down, or rows along.
inline bool isTransposedExtent(Extent extent) {
  return isMatrixExtent(extent) && !isInMemoryExtent(extent);
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
                             (bits & 16) << 1 | (bits & 32) >> 1 | (bits & 128) << 1 |
                             (bits & 256) >> 1);
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
