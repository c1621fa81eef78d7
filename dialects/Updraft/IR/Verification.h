//===- Verification.h - Checks that several verifiers share -------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_VERIFICATION_H
#define UPDRAFT_IR_VERIFICATION_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

namespace updraft {

/// Emits an error unless braces in `message` are paired and each name in them is in `names`.
mlir::LogicalResult verifyMessage(mlir::Operation *operation, llvm::StringRef message,
                                  const llvm::StringSet<> &names);

/// Collects the names of the hyperparameters in `block`; an error at one whose name is taken.
mlir::LogicalResult collectHyperNames(mlir::Block &block, llvm::StringSet<> &names);

/// An error at an operation of `block`, or nested in it, that is from none of `dialects`, and at a
/// terminator that is not this dialect's.
mlir::LogicalResult verifyDialects(mlir::Block &block, llvm::ArrayRef<llvm::StringRef> dialects);

/// An error at `operation` if an operand or a result is neither of a floating-point nor of an
/// integer type.
mlir::LogicalResult verifyElementTypes(mlir::Operation *operation);

/// An error at `operation` unless `block` has one argument for each of `operands`, of its type.
mlir::LogicalResult verifyArguments(mlir::Operation *operation, mlir::Block &block,
                                    mlir::TypeRange operands);

} // namespace updraft

#endif // UPDRAFT_IR_VERIFICATION_H
