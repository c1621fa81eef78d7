//===- StorageConversion.h - Between storage and compute types ----------------------*- C++ -*-===//
// Converts one element of a stream to the compute type and back. Conversions use only arith
// operations and work on scalars and vectors, so every target can use them. Each target accesses
// memory itself.

#ifndef UPDRAFT_CONVERSION_STORAGECONVERSION_H
#define UPDRAFT_CONVERSION_STORAGECONVERSION_H

#include "mlir/IR/Builders.h"

namespace updraft {

/// The conversion of one storage type. Instances are immutable and are never destroyed.
class StorageConversion {
public:
  virtual ~StorageConversion() = default;

  /// Returns the conversion of `storage` (f32, f64, bf16, f16 or i8), or null.
  static const StorageConversion *find(mlir::Type storage);

  /// The type in which elements are loaded and stored. Every target can move it without changing
  /// bits.
  virtual mlir::Type memoryType(mlir::MLIRContext *context) const = 0;

  /// Converts `stored` to `compute` (f32 or f64); exact if `compute` can represent the value.
  virtual mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored,
                            mlir::Type compute) const = 0;

  /// Rounds `value` of a compute type once, to nearest even. NaN stays NaN, and denormals are kept.
  /// Conversion to i8 saturates, and NaN becomes 0.
  virtual mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value) const = 0;

  /// Like `narrow`, with instructions that GPUs have. A NaN may have different bits.
  virtual mlir::Value narrowOnGPU(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value value) const {
    return narrow(builder, loc, value);
  }
};

/// Returns `element`, or a vector of it with the shape of `value`.
mlir::Type withShapeOf(mlir::Value value, mlir::Type element);

/// Returns a constant of `element`, splatted to the shape of `value`.
mlir::Value integerLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        mlir::Type element, uint64_t bits);

/// Returns a floating-point constant of the type of `value`.
mlir::Value floatLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      double constant);

/// Converts `value` to another floating-point element type; rounds to nearest even if it is
/// narrower.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::Type element);

/// Rounds an f64 value to f32 such that rounding the result again, to a type with at most 22
/// significant bits, gives the same as rounding `value` directly.
mlir::Value roundToOdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

} // namespace updraft

#endif // UPDRAFT_CONVERSION_STORAGECONVERSION_H
