//===- Stages.h - The stage at which a value is known -------------------------------*- C++ -*-===//
// A reduction is known only after a sweep over all its inputs, and a product or a function of
// matrices only after its operands are in memory. The stage of a value is the number of consecutive
// sweeps that it waits for. The sweep of stage n can compute the value, the prologue before that
// sweep if it is a scalar, or a product or call between the two.

#ifndef UPDRAFT_TRANSFORMS_STAGES_H
#define UPDRAFT_TRANSFORMS_STAGES_H

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/SetVector.h"

namespace updraft {

/// The sweep of `stage` writes a value to the parameter or a state. Later sweeps, products and
/// functions read it there.
struct Store {
  mlir::Value current; ///< the parameter or the state before the step
  mlir::Value next;
  unsigned stage;
};

/// Whether the sweep of `stage` that computes `value` stores it as the parameter or a state.
bool isStoredAt(mlir::Value value, unsigned stage, llvm::ArrayRef<Store> stores);

/// Returns the reductions that the rule's results need, in order, including the shared ones.
llvm::SmallVector<ReduceOp> neededReductions(RuleOp rule);

/// The extents of matrices that sweeps run over. `updraft-orient-products` leaves no others.
constexpr Extent matrixExtents[] = {
    Extent::element,           Extent::rows_by_rows,   Extent::columns_by_columns,
    Extent::chosen_by_columns, Extent::rows_by_chosen, Extent::chosen_by_chosen};

/// The value in memory that `reader`, a product or a function of matrices, reads for `operand`: the
/// operand, or for a product the matrix of which it is the transpose.
mlir::Value readInMemory(mlir::Operation *reader, mlir::Value operand);

class StageAnalysis {
public:
  StageAnalysis(RuleOp rule, const ExtentAnalysis &extents);

  unsigned of(mlir::Value value) const { return stages.lookup(value.getDefiningOp()); }

  /// The stage that decides whether the step is skipped: the `skip` condition and all shared
  /// reductions are known. The condition may differ between vectors and matrices, and parameters
  /// that are skipped take part in reductions over the group. 0 without a condition.
  unsigned skipping() const { return skippingStage; }
  /// The earliest stage of the sweeps that write: all next values and the skip condition are known.
  unsigned writing() const { return writingStage; }
  /// The number of stages. Stages after the writing one compute only scalars.
  unsigned count() const { return stageCount; }
  /// Returns the needed reductions that a sweep of `stage` over `extent` computes, in the rule's
  /// order.
  llvm::SmallVector<ReduceOp> reductionsOf(Extent extent, unsigned stage) const;
  /// Returns the needed products and functions of matrices of a stage, in the rule's order.
  llvm::SmallVector<mlir::Operation *> wholeMatricesOf(unsigned stage) const;
  /// Whether a sweep keeps the value in memory for products, functions and later sweeps.
  bool isKept(mlir::Value value) const { return kept.contains(value); }
  bool hasKept() const { return !kept.empty(); }
  /// Returns the values that a sweep of `stage` over `extent` keeps.
  llvm::SmallVector<mlir::Value> keptOf(Extent extent, unsigned stage) const;
  /// Whether a sweep of `stage` over `extent` reads `value` instead of computing it. It reads
  /// inputs of the rule, reductions, products, functions of matrices, values of smaller extents
  /// (except constants, which are free), and values stored or kept before `stage`.
  bool isSweepInput(mlir::Value value, Extent extent, unsigned stage,
                    llvm::ArrayRef<Store> stores) const;
  /// Returns a reduction over the group in a sweep that begins after the `skip` condition of one
  /// tensor is known, or null. No plan may have one, because the schedule would decide whether that
  /// tensor takes part.
  ReduceOp groupReductionAfterSkip(NextOp next) const;

private:
  /// Keeps values that sweeps of several stages would compute from several matrices.
  void keepComputedAgain(RuleOp rule);
  /// Moves products and functions to the first stage that reads them.
  void delayWholeMatrices(RuleOp rule);

  const ExtentAnalysis &extents;
  llvm::DenseMap<mlir::Operation *, unsigned> stages;
  llvm::SmallVector<ReduceOp> needed;                 ///< by the rule's results
  llvm::SmallVector<mlir::Operation *> wholeMatrices; ///< that the rule's results need
  llvm::SetVector<mlir::Value> kept;
  unsigned skippingStage = 0;
  unsigned writingStage = 0;
  unsigned stageCount = 1;
};

/// Whether the value is an input of the rule, or the result of a reduction, a product or a function
/// of matrices. A sweep never computes such a value from others of the same sweep.
bool isRuleInput(mlir::Value value);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_STAGES_H
