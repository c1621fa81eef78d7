//===- TorchSource.h - A rule as Python text ----------------------------------------*- C++ -*-===//
// The target for which a step is out-of-place operations of torch: what autograd can follow, and
// what runs where torch runs.

#ifndef UPDRAFT_TARGET_TORCHSOURCE_H
#define UPDRAFT_TARGET_TORCHSOURCE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace updraft {

/// Prints the rule of `module`, or its two rules for vectors and matrices, as a Python module with
/// the function `step`; docs/tools.md describes it. Fails where the rule has what torch's
/// operations do not offer: `reason` then says what.
mlir::LogicalResult printTorchSource(mlir::ModuleOp module, llvm::raw_ostream &os,
                                     std::string &reason);

} // namespace updraft

#endif // UPDRAFT_TARGET_TORCHSOURCE_H
