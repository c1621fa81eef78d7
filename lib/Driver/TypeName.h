//===- TypeName.h - Types as text ---------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_TYPENAME_H
#define UPDRAFT_LIB_DRIVER_TYPENAME_H

#include "mlir/IR/Types.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace updraft {

/// As MLIR prints it: "bf16".
inline std::string typeName(mlir::Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_TYPENAME_H
