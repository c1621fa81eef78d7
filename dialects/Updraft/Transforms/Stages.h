//===- Stages.h - How many passes before a value of a rule is known -----------------*- C++ -*-===//
// A reduction is known only after a pass over all that it reduces. The stage of a value is how many
// such passes, one after the other, it waits for: the pass of stage n can compute it, and the
// prologue before that pass, if it is a scalar.

#ifndef UPDRAFT_TRANSFORMS_STAGES_H
#define UPDRAFT_TRANSFORMS_STAGES_H

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"

namespace updraft {

/// A next value that is written in an earlier stage than the last, so that later passes read it
/// and need not compute it again.
struct EarlyStore {
  mlir::Value current; ///< the parameter or the state
  mlir::Value next;
  unsigned stage;
};

/// The reductions that the rule's results need, in its order, and those that it shares.
llvm::SmallVector<ReduceOp> neededReductions(RuleOp rule);

class StageAnalysis {
public:
  StageAnalysis(RuleOp rule, const ExtentAnalysis &extents);

  unsigned of(mlir::Value value) const { return stages.lookup(value.getDefiningOp()); }

  /// The stage of the passes that write, at the earliest: all next values are known, and whether
  /// the step is skipped.
  unsigned writing() const { return writingStage; }
  /// How many stages there are. Those after the writing one compute scalars only.
  unsigned count() const { return stageCount; }
  /// Those of the reductions that the rule's results need, in its order, that a pass of `stage`
  /// over `extent` computes.
  llvm::SmallVector<ReduceOp> reductionsOf(Extent extent, unsigned stage) const;
  /// A reduction over the group in a pass that begins after a condition of `skip` for one tensor is
  /// known. Whether that tensor takes part would depend on the schedule, so no plan may have one.
  ReduceOp groupReductionAfterSkip(NextOp next) const;

private:
  const ExtentAnalysis &extents;
  llvm::DenseMap<mlir::Operation *, unsigned> stages;
  llvm::SmallVector<ReduceOp> needed; ///< by the rule's results
  unsigned writingStage = 0;
  unsigned stageCount = 1;
};

/// Chooses at which stage each changed element value of the rule is stored, the parameter and
/// states in the order of `updraft.next`: early where that moves fewer bytes. An early store must
/// lose no bits, since later passes read it in place of the value, and none of them may need the
/// value before the step.
llvm::SmallVector<EarlyStore> chooseStores(RuleOp rule, const StageAnalysis &stages,
                                           const ExtentAnalysis &extents);

/// Whether a rule is given the value, or has it from a reduction: it computes none of these from
/// others of the same pass.
bool isRuleInput(mlir::Value value);

/// Where a pass over `extent` gets its values from, and does not compute them: inputs of the rule,
/// reductions, what smaller extents compute (constants apart, which cost nothing), and what was
/// stored before `stage`.
bool isPassInput(mlir::Value value, Extent extent, unsigned stage, const ExtentAnalysis &extents,
                 llvm::ArrayRef<EarlyStore> stores);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_STAGES_H
