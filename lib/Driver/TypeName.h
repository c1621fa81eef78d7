//===- TypeName.h - Types as text ---------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_TYPENAME_H
#define UPDRAFT_LIB_DRIVER_TYPENAME_H

#include "Updraft/IR/UpdraftDialect.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace updraft {

/// Returns a storage type as the language writes it ("bf16"), and other types as MLIR prints them.
inline std::string typeName(mlir::Type type) {
  if (auto blocked = mlir::dyn_cast<BlockedType>(type))
    return ("q8_" + stringifyQuantisation(blocked.getQuantisation())).str();
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_TYPENAME_H
