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

/// Collects the names of the hyperparameters in `block`; emits an error for a duplicate name.
mlir::LogicalResult collectHyperNames(mlir::Block &block, llvm::StringSet<> &names);

/// Emits an error if two probes in `block` have one name, or if a histogram isn't a whole one.
mlir::LogicalResult verifyProbes(mlir::Block &block);

/// Emits an error for an operation in `block`, or nested in it, that is not from `dialects`, and
/// for a terminator from another dialect.
mlir::LogicalResult verifyDialects(mlir::Block &block, llvm::ArrayRef<llvm::StringRef> dialects);

/// Emits an error if an operand or result of `operation` is neither floating-point nor integer.
mlir::LogicalResult verifyElementTypes(mlir::Operation *operation);

/// Emits an error unless `chosen` of a rule or plan, if there is one, is a fraction of matrices.
mlir::LogicalResult verifyChosen(mlir::Operation *operation, std::optional<llvm::APFloat> chosen,
                                 bool isMatrix);

/// Emits an error unless `block` has one argument for each of `operands`, with the same type.
mlir::LogicalResult verifyArguments(mlir::Operation *operation, mlir::Block &block,
                                    mlir::TypeRange operands);

} // namespace updraft

#endif // UPDRAFT_IR_VERIFICATION_H
