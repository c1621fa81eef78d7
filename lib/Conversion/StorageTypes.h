//===- StorageTypes.h - The conversion of each storage type -------------------------*- C++ -*-===//
// One function per storage type; `StorageConversion::find` is the way in.

#ifndef UPDRAFT_LIB_CONVERSION_STORAGETYPES_H
#define UPDRAFT_LIB_CONVERSION_STORAGETYPES_H

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Conversion/StorageConversion.h"

namespace updraft {

const StorageConversion *f32Storage();
const StorageConversion *f64Storage();
const StorageConversion *bf16Storage();
const StorageConversion *f16Storage();
const StorageConversion *i8Storage();

/// The elements of even and of odd number of a vector<2n x i16> of bf16 elements, as vector<n x
/// f32>: two operations, where widening elements in their order takes shuffles as well.
std::pair<mlir::Value, mlir::Value> widenBFloat16Pairs(mlir::OpBuilder &builder, mlir::Location loc,
                                                       mlir::Value stored);

/// Whether a pass for a CPU, with vectors of `lanes` elements of the type `compute`, computes in
/// such pairs: all that it reads and writes are bf16 elements in a flat sequence, nothing depends
/// on where in it they are, and the body is small enough to have it twice.
bool computesBFloat16Pairs(PassOp pass, mlir::Type compute, unsigned lanes);

/// The f32 `value`, where it is a NaN the quiet one with nothing in its lower half: rounding that
/// to bf16 cannot carry.
mlir::Value shortenNaN(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// The other way, rounded to nearest even. `shortNaNs`: the lower halves of NaNs are zero, so that
/// rounding leaves them alone.
mlir::Value narrowBFloat16Pairs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value even,
                                mlir::Value odd, bool shortNaNs);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_STORAGETYPES_H
