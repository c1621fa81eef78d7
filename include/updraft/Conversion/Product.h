//===- Product.h - The functions of a matrix product --------------------------------*- C++ -*-===//
// The product and the mirror of updraft-c/kernel.h. They are the same for all rules.

#ifndef UPDRAFT_CONVERSION_PRODUCT_H
#define UPDRAFT_CONVERSION_PRODUCT_H

#include "mlir/IR/Builders.h"

namespace updraft {

/// The properties of a CPU that affect the loops of a product.
struct ProductTarget {
  unsigned vectorBits = 128;
  unsigned vectorRegisters = 16;
  unsigned interleaveBits = 128; ///< of two vectors, that one instruction interleaves
  bool maskRemainder = false;    ///< has masked loads and stores
};

/// The sizes of a product's tiles and blocks. They affect only its speed, never its bits.
///
/// A tile of the result is in registers while the depth of a block goes by. Blocks of the operands
/// are copied to the workspace, in panels as wide as a tile, so that a tile reads consecutive
/// memory.
struct ProductTiles {
  unsigned lanes;     ///< elements in a vector
  unsigned rows;      ///< of a tile
  unsigned edgeRows;  ///< of the lower tiles that the last rows of a result are computed in
  unsigned columns;   ///< of a tile, a multiple of `lanes`
  unsigned unroll;    ///< elements of the depth in one iteration
  int64_t rowBlock;   ///< a multiple of `rows`
  int64_t colBlock;   ///< a multiple of `columns`
  int64_t depthBlock; ///< a multiple of `unroll`
  unsigned group;     ///< elements that one instruction interleaves with those of another vector
  bool maskRemainder; ///< of copied tiles at the edge of a result, else one element at a time
  /// Elements of lhs are loaded as vectors and broadcast from their lanes, for instructions that
  /// multiply by a lane. Otherwise each element is loaded and broadcast.
  bool loadsLanes;

  /// Returns the sizes for a compute type.
  static ProductTiles choose(mlir::Type compute, const ProductTarget &target);

  // The workspace has one lower tile, a block of lhs and a block of rhs. Parts begin at multiples of 64
  // elements.
  int64_t lhsOffset() const { return (edgeRows * columns + 63) / 64 * 64; }
  /// Leaves a vector after the block of lhs.
  int64_t rhsOffset() const { return (lhsOffset() + rowBlock * depthBlock + lanes + 63) / 64 * 64; }
  int64_t workspaceElements() const { return rhsOffset() + colBlock * depthBlock + lanes; }
};

/// Builds `NAME`_product and `NAME`_mirror at the insertion point, in a module, and private
/// functions whose names begin with `NAME`_product. `compute` is f32 or f64.
void buildProductFunctions(mlir::OpBuilder &builder, llvm::StringRef name, mlir::Type compute,
                           const ProductTiles &tiles);

} // namespace updraft

#endif // UPDRAFT_CONVERSION_PRODUCT_H
