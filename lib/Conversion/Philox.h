//===- Philox.h - Random bits that depend on where, not when ------------------------*- C++ -*-===//
// Philox-4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): a block cipher of a counter, so that any element's bits can be had without the others'.

#ifndef UPDRAFT_LIB_CONVERSION_PHILOX_H
#define UPDRAFT_LIB_CONVERSION_PHILOX_H

#include "mlir/IR/Builders.h"

namespace updraft {

/// What the bits of one tensor in one step depend on, as i64.
struct RandomSite {
  mlir::Value seed, step, tensor;
};

/// 64 random bits for each element of `index`, an i64 or a vector of it: the key is the seed, the
/// counter (element, step, 16 * tensor + stream), of which the last two are taken modulo 2^32.
mlir::Value philoxBits(mlir::OpBuilder &builder, mlir::Location loc, const RandomSite &site,
                       mlir::Value index, int64_t stream);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_PHILOX_H
