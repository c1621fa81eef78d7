//===- Philox.h - Random bits from a counter ----------------------------------------*- C++ -*-===//
// Philox-4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011) encrypts a counter, so each element's bits can be computed without those of others.

#ifndef UPDRAFT_LIB_CONVERSION_PHILOX_H
#define UPDRAFT_LIB_CONVERSION_PHILOX_H

#include "mlir/IR/Builders.h"

namespace updraft {

/// The inputs that the bits of one tensor in one step depend on, as i64.
struct RandomSite {
  mlir::Value seed, step, tensor;
};

/// Returns 64 random bits for each element of `index`, an i64 or a vector of i64. The key is the
/// seed. The counter is (element, step, 16 * tensor + stream), with the last two modulo 2^32.
mlir::Value philoxBits(mlir::OpBuilder &builder, mlir::Location loc, const RandomSite &site,
                       mlir::Value index, int64_t stream);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_PHILOX_H
