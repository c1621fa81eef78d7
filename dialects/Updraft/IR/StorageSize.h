//===- StorageSize.h - Bits that elements take in memory ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_STORAGESIZE_H
#define UPDRAFT_IR_STORAGESIZE_H

#include "Updraft/IR/UpdraftDialect.h"

namespace updraft {

/// Elements of a block of `!updraft.blocked`, which have one scale.
constexpr int64_t quantBlockElements = 256;

/// Bits of one element of `storage`, with its part of the block's scale.
inline double storageBits(mlir::Type storage) {
  if (mlir::isa<BlockedType>(storage))
    return 8 + 32.0 / quantBlockElements;
  return storage.getIntOrFloatBitWidth();
}

} // namespace updraft

#endif // UPDRAFT_IR_STORAGESIZE_H
