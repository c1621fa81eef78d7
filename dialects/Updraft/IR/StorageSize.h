//===- StorageSize.h - Bits per element in memory -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_STORAGESIZE_H
#define UPDRAFT_IR_STORAGESIZE_H

#include "Updraft/IR/UpdraftDialect.h"

namespace updraft {

/// The elements of a block of `!updraft.blocked`, which share one scale.
constexpr int64_t quantBlockElements = 256;

/// Returns the bits of one element of `storage`, including its part of the block's scale.
inline double storageBits(mlir::Type storage) {
  if (mlir::isa<BlockedType>(storage))
    return 8 + 32.0 / quantBlockElements;
  return storage.getIntOrFloatBitWidth();
}

} // namespace updraft

#endif // UPDRAFT_IR_STORAGESIZE_H
