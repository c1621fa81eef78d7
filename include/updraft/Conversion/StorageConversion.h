//===- StorageConversion.h - Between storage and compute types ----------------------*- C++ -*-===//
// How one element of a stream becomes a value of the compute type, and back. The operations are
// from arith alone and work on scalars and on vectors, so every target can use them; getting at the
// memory is the target's own business.

#ifndef UPDRAFT_CONVERSION_STORAGECONVERSION_H
#define UPDRAFT_CONVERSION_STORAGECONVERSION_H

#include "mlir/IR/Builders.h"

namespace updraft {

/// The conversion of one storage type. Instances are immutable and live forever.
class StorageConversion {
public:
  virtual ~StorageConversion() = default;

  /// The conversion of `storage` (f32, f64, bf16, f16 or i8), or null.
  static const StorageConversion *find(mlir::Type storage);

  /// The type of an element where it is loaded and stored: a type that every target can move
  /// without touching its bits.
  virtual mlir::Type memoryType(mlir::MLIRContext *context) const = 0;

  /// The value of `stored`, exact where `compute` (f32 or f64) can hold it.
  virtual mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored,
                            mlir::Type compute) const = 0;

  /// `value` of a compute type, rounded once to nearest even. A NaN stays a NaN, denormals are
  /// kept. To i8, what lies beyond its range becomes the nearest end of it, and NaN 0.
  virtual mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value) const = 0;

  /// The same with what GPUs have instructions for. A NaN may have other bits.
  virtual mlir::Value narrowOnGPU(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value value) const {
    return narrow(builder, loc, value);
  }
};

/// `element`, or the vector of it that has the shape of `value`.
mlir::Type withShapeOf(mlir::Value value, mlir::Type element);

/// A constant of `element`, splatted to the shape of `value`.
mlir::Value integerLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        mlir::Type element, uint64_t bits);

/// A floating-point constant of the type of `value`.
mlir::Value floatLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      double constant);

/// `value` with another floating-point element type, rounded to nearest even where it is narrower.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::Type element);

/// An f64 value rounded to f32 such that rounding the result again, to a type with at most 22
/// significant bits, gives what rounding `value` itself would.
mlir::Value roundToOdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

} // namespace updraft

#endif // UPDRAFT_CONVERSION_STORAGECONVERSION_H
