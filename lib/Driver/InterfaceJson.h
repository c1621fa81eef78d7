//===- InterfaceJson.h - The interface of plans as JSON -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_INTERFACEJSON_H
#define UPDRAFT_LIB_DRIVER_INTERFACEJSON_H

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Frontend/Frontend.h"

#include <string>

namespace updraft {

/// The object that accompanies machine code, as docs/architecture.md has it. `plan` stands for the
/// plan for matrices beside it in its module, too. Of the imported rule, the flags and
/// tensors count. `gpu` is empty for code of a CPU.
std::string interfaceJson(PlanOp plan, llvm::StringRef numerics, llvm::StringRef gpu,
                          const ImportedRule &imported);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_INTERFACEJSON_H
