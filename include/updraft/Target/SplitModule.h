//===- SplitModule.h - Splits a module for two threads ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TARGET_SPLITMODULE_H
#define UPDRAFT_TARGET_SPLITMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace updraft {

/// Moves functions of `module`, which is in the LLVM dialect, to a new module such that both take
/// about as long to compile. Returns null and moves nothing if the functions have fewer than
/// `minOperations` operations, or if the module has anything but functions. Called functions don't
/// move; internal ones get hidden visibility, because the objects of both modules are linked
/// together. The result depends only on the module.
mlir::OwningOpRef<mlir::ModuleOp> splitModule(mlir::ModuleOp module, size_t minOperations);

} // namespace updraft

#endif // UPDRAFT_TARGET_SPLITMODULE_H
