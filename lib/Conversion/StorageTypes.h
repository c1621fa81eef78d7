//===- StorageTypes.h - The conversion of each storage type -------------------------*- C++ -*-===//
// Declares one function per storage type. Callers use `StorageConversion::find`.

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

/// Returns the even and odd elements of a vector<2n x i16> of bf16 elements, as vector<n x f32>.
/// This takes two operations; widening elements in order also takes shuffles.
std::pair<mlir::Value, mlir::Value> widenBFloat16Pairs(mlir::OpBuilder &builder, mlir::Location loc,
                                                       mlir::Value stored);

/// Whether a sweep for a CPU, with vectors of `lanes` elements of the type `compute`, uses such
/// pairs. It then reads and writes only bf16 elements in a flat sequence, doesn't depend on their
/// index, and its body is small enough to be duplicated.
bool computesBFloat16Pairs(SweepOp sweep, mlir::Type compute, unsigned lanes);

/// Returns the f32 `value`. A NaN becomes the quiet NaN whose lower half is zero, so that rounding
/// it to bf16 does not carry.
mlir::Value shortenNaN(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// The inverse of widenBFloat16Pairs, rounded to nearest even. `shortNaNs` states that the lower
/// halves of NaNs are zero, so that rounding doesn't change them.
mlir::Value narrowBFloat16Pairs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value even,
                                mlir::Value odd, bool shortNaNs);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_STORAGETYPES_H
