//===- StorageType.h - How a rule or a request stores a value -----------------------*- C++ -*-===//

#ifndef UPDRAFT_FRONTEND_STORAGETYPE_H
#define UPDRAFT_FRONTEND_STORAGETYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace updraft {

/// The type of elements in memory, and how values are rounded to it. The numbers are part of the
/// cache's keys.
enum class StorageType : uint8_t {
  F32,
  F64,
  BF16,
  F16,
  BF16Stochastic,
  BF16Corrected,
  Q8Linear,
  Q8Companded
};

/// As the language writes them, by number. They end with a null character.
llvm::ArrayRef<llvm::StringLiteral> storageTypeNames();
llvm::StringRef storageTypeName(StorageType type);
std::optional<StorageType> parseStorageType(llvm::StringRef name);

/// "unknown storage type `f8`; the types are `f32`, …".
std::string unknownStorageType(llvm::StringRef name);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_STORAGETYPE_H
