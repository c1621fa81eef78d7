//===- InterfaceJson.h - The interface of plans as JSON -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_INTERFACEJSON_H
#define UPDRAFT_LIB_DRIVER_INTERFACEJSON_H

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Frontend/Frontend.h"

#include <string>

namespace updraft {

/// Returns the JSON object that accompanies machine code; see docs/architecture.md. Includes the
/// plan for matrices beside `plan` in its module. Uses the flags and tensors of the imported rule.
/// `gpu` is empty for CPU code.
std::string interfaceJson(PlanOp plan, llvm::StringRef numerics, llvm::StringRef gpu,
                          const ImportedRule &imported);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_INTERFACEJSON_H
