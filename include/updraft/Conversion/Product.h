//===- Product.h - The functions of a matrix product --------------------------------*- C++ -*-===//
// The products and the mirror of updraft-c/kernel.h. They are the same for all rules.

#ifndef UPDRAFT_CONVERSION_PRODUCT_H
#define UPDRAFT_CONVERSION_PRODUCT_H

#include "mlir/IR/Builders.h"
#include "updraft/Conversion/ProductEpilogue.h"

namespace updraft {

/// An instruction for bf16 products: each lane multiplies a pair of bf16 by another and adds both
/// products to an f32.
enum class DotInstruction {
  None,
  VDPBF16PS, ///< AVX512-BF16
  BFDOT      ///< FEAT_BF16 of AArch64, without SVE
};

/// Returns the bits of its vectors, or 0 for None.
unsigned vectorBitsOf(DotInstruction instruction);

/// The properties of a CPU that affect the loops of a product.
struct ProductTarget {
  unsigned vectorBits = 128;
  unsigned vectorRegisters = 16;
  /// The size of the parts in which one instruction interleaves two vectors.
  unsigned interleaveBits = 128;
  bool maskRemainder = false; ///< has masked loads and stores
  DotInstruction dot = DotInstruction::None;
};

/// The sizes of a product's tiles and blocks. They affect only its speed, never its bits.
///
/// A tile of the result is in registers while the depth of a block goes by. Blocks of the operands
/// are copied to the workspace, in panels as wide as a tile, so that a tile reads consecutive
/// memory.
struct ProductTiles {
  unsigned lanes;     ///< elements in a vector, at least 2
  unsigned rows;      ///< of a tile
  unsigned edgeRows;  ///< of the lower tiles at the edge of a result; divides `rows`
  unsigned columns;   ///< of a tile, a multiple of `lanes`
  unsigned unroll;    ///< elements of the depth in one iteration
  int64_t rowBlock;   ///< a multiple of `rows`
  int64_t colBlock;   ///< a multiple of `columns`
  int64_t depthBlock; ///< a multiple of `unroll`
  unsigned group;     ///< elements in each part of a vector that is interleaved on its own
  bool maskRemainder; ///< copies the last columns of a result as a masked vector
  /// Loads elements of lhs as vectors, for instructions that multiply by one lane of a vector.
  /// Otherwise loads and broadcasts each element.
  bool loadsLanes;

  /// Returns the sizes for f32 or f64, and vectors of at least 128 bits.
  static ProductTiles choose(mlir::Type compute, const ProductTarget &target);

  // The workspace has one lower tile, a block of lhs and a block of rhs. A vector is left after
  // each block, because transposed panels are stored as whole vectors.
  int64_t lhsOffset() const { return (edgeRows * columns + 63) / 64 * 64; }
  int64_t rhsOffset() const { return (lhsOffset() + rowBlock * depthBlock + lanes + 63) / 64 * 64; }
  int64_t workspaceElements() const { return rhsOffset() + colBlock * depthBlock + lanes; }
};

/// Builds `NAME`_product and `NAME`_mirror at the insertion point, in a module, and private
/// functions whose names begin with `NAME`_product. `compute` is f32 or f64. All operations have
/// the location `loc`.
void buildProductFunctions(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                           mlir::Type compute, const ProductTiles &tiles, ProductEpilogue epilogue);

/// Builds `NAME`_bf16_product after the functions of buildProductFunctions. `compute` is f32.
/// Without an instruction, or if its vectors aren't those of `tiles`, it calls `NAME`_product.
void buildBF16ProductFunctions(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                               mlir::Type compute, const ProductTiles &tiles, DotInstruction dot,
                               ProductEpilogue epilogue);

} // namespace updraft

#endif // UPDRAFT_CONVERSION_PRODUCT_H
