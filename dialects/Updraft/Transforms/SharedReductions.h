//===- SharedReductions.h - Reductions over a group of vectors and matrices ---------*- C++ -*-===//
// A rule for vectors and one for matrices share their reductions over the group: tensors of both
// kinds take part in each. Which belong together is said by their order as imported, and is not to
// be lost when one of the rules is simplified more than the other.

#ifndef UPDRAFT_TRANSFORMS_SHAREDREDUCTIONS_H
#define UPDRAFT_TRANSFORMS_SHAREDREDUCTIONS_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace updraft {

/// Whether the reduction has a number, by which it is one with that of the other rule. It is not to
/// be removed then, nor merged with another.
bool isShared(ReduceOp reduce);

/// Its number, if it has one: what it has in common with its counterpart.
std::optional<unsigned> sharedNumberOf(ReduceOp reduce);

/// The reductions of the rule that are shared, in its order.
llvm::SmallVector<mlir::Value> sharedReductionsOf(RuleOp rule);

/// Numbers the reductions over the group in both rules of a module that has one for vectors and one
/// for matrices, unless they have numbers. Fails, with no error emitted, if the two do not share
/// the same numbers of the same kinds.
mlir::LogicalResult numberSharedReductions(mlir::ModuleOp module);

/// While it lives, the terminator of a rule uses the reductions that are shared: the other rule may
/// need one that nothing in this rule does.
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

/// Takes the number from those that neither rule needs.
void dropUnneededReductions(mlir::ModuleOp module);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_SHAREDREDUCTIONS_H
