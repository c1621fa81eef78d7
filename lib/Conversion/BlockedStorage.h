//===- BlockedStorage.h - Between blocks of 8-bit codes and values ------------------*- C++ -*-===//
// docs/numerics.md, "Blocks". Values that are constant over a block are computed once, on scalars.
// The rest works on scalars and on vectors, using only operations from arith and math.

#ifndef UPDRAFT_LIB_CONVERSION_BLOCKEDSTORAGE_H
#define UPDRAFT_LIB_CONVERSION_BLOCKEDSTORAGE_H

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/IR/Builders.h"

namespace updraft {

class BlockedStorage {
public:
  explicit BlockedStorage(Quantisation quantisation) : quantisation(quantisation) {}

  /// For reading a block: the bias of its codes (i32, or null if it is known to be 0), and the
  /// value of one unit (f32).
  struct Decoding {
    mlir::Value bias, unit;
  };
  Decoding decodingOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale) const;

  /// Returns the values of `codes` (i8) in the type `compute` (f32 or f64).
  mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value codes,
                    const Decoding &decoding, mlir::Type compute) const;

  bool isCompanded() const { return quantisation == Quantisation::companded; }

  /// For writing a block: its scale (f32); whether it has negative values (i1); whether codes are
  /// at least `least` (i8) without a check of the values (i1); the factor from values, or from
  /// square roots if companded, to codes (f32); the offset that moves codes to the lowest bits
  /// (f32); and the mask of the code's bits (i32).
  struct Encoding {
    mlir::Value scale, isSigned, isOrdinary, codePerValue, offset, codeBits, least;
  };
  /// The extreme bits (i32) of the values of a block: the largest as signed numbers, or 0; the
  /// largest and the smallest as unsigned numbers.
  struct Extremes {
    mlir::Value positive, negative, smallest;
  };
  Encoding encodingOf(mlir::OpBuilder &builder, mlir::Location loc, const Extremes &extremes) const;

  /// Returns the codes (i8) of f32 `values`.
  mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value values,
                     const Encoding &encoding) const;

  /// The same for companded values that are not negative, from their square `roots`.
  mlir::Value narrowRoots(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value roots,
                          const Encoding &encoding) const;

  /// Returns numbers (i32) with the codes in their lowest bytes, computed from values or from
  /// roots. The block must be ordinary. Codes may still be smaller than the block's `least`.
  mlir::Value narrowOrdinary(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value values,
                             bool ofRoots, const Encoding &encoding) const;

private:
  mlir::Value rootsOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value values) const;

  Quantisation quantisation;
};

/// Returns the lowest bytes of up to four vectors of i32, concatenated.
mlir::Value packedBytes(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::Value> numbers);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_BLOCKEDSTORAGE_H
