//===- SplitModule.h - One module as two for two threads ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TARGET_SPLITMODULE_H
#define UPDRAFT_TARGET_SPLITMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace updraft {

/// Moves functions of `module`, which is in the LLVM dialect, to a module of their own, such that
/// either takes about as long to compile. Null, and nothing moved, if the module has fewer than
/// `minOperations` operations in functions, or anything but functions. What is called stays, with
/// hidden visibility if it was internal: the objects of both modules are linked together. The
/// result depends on nothing but the module.
mlir::OwningOpRef<mlir::ModuleOp> splitModule(mlir::ModuleOp module, size_t minOperations);

} // namespace updraft

#endif // UPDRAFT_TARGET_SPLITMODULE_H
