//===- BlockedStorage.h - Between blocks of 8-bit codes and values ------------------*- C++ -*-===//
// docs/numerics.md, "Blocks". What is the same for a block is computed once, on scalars; the rest
// works on scalars and on vectors, with operations from arith and math alone.

#ifndef UPDRAFT_LIB_CONVERSION_BLOCKEDSTORAGE_H
#define UPDRAFT_LIB_CONVERSION_BLOCKEDSTORAGE_H

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/IR/Builders.h"

namespace updraft {

class BlockedStorage {
public:
  explicit BlockedStorage(Quantisation quantisation) : quantisation(quantisation) {}

  /// Of a block that is read: what a code has too much, i32, or null if that is known to be 0; and
  /// what one unit is worth, f32.
  struct Decoding {
    mlir::Value bias, unit;
  };
  Decoding decodingOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale) const;

  /// The values of `codes` (i8), in the type `compute` (f32 or f64).
  mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value codes,
                    const Decoding &decoding, mlir::Type compute) const;

  bool isCompanded() const { return quantisation == Quantisation::companded; }

  /// Of a block that is written: its scale, f32; whether it has negative values, i1; whether codes
  /// are at least `least`, i8, without a look at the values, i1; what takes values, or their square
  /// roots where it is companded, to codes, f32; what is added to these to have them in the lowest
  /// bits, f32; and which of the bits count, i32.
  struct Encoding {
    mlir::Value scale, isSigned, isOrdinary, codePerValue, offset, codeBits, least;
  };
  /// The bits of the values of a block, i32: the largest as signed numbers, or 0; the largest and
  /// the smallest as unsigned ones.
  struct Extremes {
    mlir::Value positive, negative, smallest;
  };
  Encoding encodingOf(mlir::OpBuilder &builder, mlir::Location loc, const Extremes &extremes) const;

  /// The codes (i8) of f32 `values`.
  mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value values,
                     const Encoding &encoding) const;

  /// The same, of companded values that are not negative, by their square `roots`.
  mlir::Value narrowRoots(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value roots,
                          const Encoding &encoding) const;

  /// Numbers (i32) that have the codes in their lowest byte, but for those of less than the block's
  /// least, where the block is ordinary: of values, or of roots.
  mlir::Value narrowOrdinary(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value values,
                             bool ofRoots, const Encoding &encoding) const;

private:
  mlir::Value rootsOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value values) const;

  Quantisation quantisation;
};

/// The lowest bytes of up to four vectors of i32, those of one after those of the other.
mlir::Value packedBytes(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::Value> numbers);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_BLOCKEDSTORAGE_H
