//===- SharedReductions.h - Reductions over a group of vectors and matrices ---------*- C++ -*-===//
// The forms of `updraft.variants` share their reductions over the group: vectors and matrices take
// part in each. The order at import pairs them. The pairs must survive if one form is simplified
// more than the other.

#ifndef UPDRAFT_TRANSFORMS_SHAREDREDUCTIONS_H
#define UPDRAFT_TRANSFORMS_SHAREDREDUCTIONS_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace updraft {

/// Whether the reduction has the number of a shared reduction. It must then be neither removed nor
/// merged with another.
bool isShared(ReduceOp reduce);

/// Returns the number that the reduction shares with its counterpart, if any.
std::optional<unsigned> sharedNumberOf(ReduceOp reduce);

/// Returns the shared reductions of the rule, in order.
llvm::SmallVector<mlir::Value> sharedReductionsOf(RuleOp rule);

/// Numbers the reductions over the group in the module's variants, unless they already have
/// numbers. Fails without emitting an error if the reductions of two forms don't have the same
/// numbers or kinds.
mlir::LogicalResult numberSharedReductions(mlir::ModuleOp module);

/// During its lifetime, the terminator of a rule uses the shared reductions, so that those that
/// only the other form needs are not removed.
class SharedReductionsHeld {
public:
  explicit SharedReductionsHeld(RuleOp rule);
  ~SharedReductionsHeld();
  SharedReductionsHeld(const SharedReductionsHeld &) = delete;
  SharedReductionsHeld &operator=(const SharedReductionsHeld &) = delete;

private:
  NextOp next;
  unsigned states, count;
};

/// Removes the numbers of reductions that neither form needs.
void dropUnneededReductions(mlir::ModuleOp module);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_SHAREDREDUCTIONS_H
