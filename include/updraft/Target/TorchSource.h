//===- TorchSource.h - A rule as Python text ----------------------------------------*- C++ -*-===//
// Prints a step as out-of-place torch operations, which autograd can differentiate and which run on
// any device that torch supports.

#ifndef UPDRAFT_TARGET_TORCHSOURCE_H
#define UPDRAFT_TARGET_TORCHSOURCE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace updraft {

/// Prints the rule of `module`, or its two rules for vectors and matrices, as a Python module with
/// the function `step`; see docs/tools.md. Fails if torch has no operation for a part of the rule,
/// and stores that in `reason`.
mlir::LogicalResult printTorchSource(mlir::ModuleOp module, llvm::raw_ostream &os,
                                     std::string &reason);

} // namespace updraft

#endif // UPDRAFT_TARGET_TORCHSOURCE_H
