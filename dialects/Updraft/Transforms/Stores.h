//===- Stores.h - When a step stores its results ------------------------------------*- C++ -*-===//
// The last sweeps store the results of a step, or earlier ones if that moves fewer bytes. A state
// can also hold an interim value that products and functions of matrices read, until its next value
// is known. Otherwise the step would need memory for that value, and would copy it.

#ifndef UPDRAFT_TRANSFORMS_STORES_H
#define UPDRAFT_TRANSFORMS_STORES_H

#include "Updraft/Transforms/Conditions.h"

namespace updraft {

/// Rewrites the rule so that states can hold more interim values. `next s = if c then s else if d
/// then x else m`, where only steps without `c` need the kept value m, becomes the same with
/// `if c then s else m` in place of m, and of s in the first branch.
void mergeInterimValues(RuleOp rule);

/// Chooses the stages at which each changed value over elements or other matrices is stored, in the
/// order of `updraft.next`; interim values follow. Stores a next value early if that moves fewer
/// bytes. An early or interim store must not lose bits, because later sweeps read it in place of
/// the value, and nothing later may need what it overwrites.
llvm::SmallVector<Store> chooseStores(RuleOp rule, const StageAnalysis &stages,
                                      const ExtentAnalysis &extents, const Conditions &conditions);

/// Returns a condition of the steps in which the store changes the parameter or state, after the
/// earlier ones of `stores`.
Disjunction changesWhen(const Store &store, llvm::ArrayRef<Store> stores,
                        const Conditions &conditions);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_STORES_H
