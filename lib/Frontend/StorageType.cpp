//===- StorageType.cpp - How a rule or a request stores a value -------------------------------===//

#include "updraft/Frontend/StorageType.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace updraft;
using llvm::StringRef;

llvm::ArrayRef<llvm::StringLiteral> updraft::storageTypeNames() {
  static constexpr llvm::StringLiteral names[] = {
      "f32",       "f64",         "bf16", "f16", "bf16_stochastic", "bf16_corrected",
      "q8_linear", "q8_companded"};
  return names;
}

StringRef updraft::storageTypeName(StorageType type) {
  return storageTypeNames()[static_cast<size_t>(type)];
}

std::optional<StorageType> updraft::parseStorageType(StringRef name) {
  const auto names = storageTypeNames();
  const auto *found = llvm::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<StorageType>(found - names.begin());
}

std::string updraft::unknownStorageType(StringRef name) {
  return ("unknown storage type `" + name + "`; the types are `" +
          llvm::join(storageTypeNames(), "`, `") + "`")
      .str();
}
