//===- SweepDrafts.h - The sweeps of a plan -----------------------------------------*- C++ -*-===//
// Decides what each sweep over data computes, before any sweep is created.

#ifndef UPDRAFT_TRANSFORMS_SWEEPDRAFTS_H
#define UPDRAFT_TRANSFORMS_SWEEPDRAFTS_H

#include "Updraft/Transforms/Slice.h"
#include "Updraft/Transforms/Stages.h"

#include <vector>

namespace updraft {

/// A sweep over data that has not been created yet.
struct SweepDraft {
  Extent over;
  unsigned stage;
  llvm::SmallVector<ReduceOp> reductions = {};
  llvm::SmallVector<mlir::Value> made = {}; ///< values that later sweeps read
  /// The parameter or a state, and its next value.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> writes = {};
  Slice slice = {};

  bool isEmpty() const { return reductions.empty() && made.empty() && writes.empty(); }
  llvm::SmallVector<mlir::Value> roots() const;
};

/// Returns the sweeps of a rule's plan in execution order, which is the order of their stages.
std::vector<SweepDraft> draftSweeps(RuleOp rule, const ExtentAnalysis &extents,
                                    const StageAnalysis &stages, llvm::ArrayRef<Store> stores);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_SWEEPDRAFTS_H
