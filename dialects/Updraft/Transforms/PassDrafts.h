//===- PassDrafts.h - Which passes a plan has ---------------------------------------*- C++ -*-===//
// Decides what each pass over data computes, before any of them is made.

#ifndef UPDRAFT_TRANSFORMS_PASSDRAFTS_H
#define UPDRAFT_TRANSFORMS_PASSDRAFTS_H

#include "Updraft/Transforms/Slice.h"
#include "Updraft/Transforms/Stages.h"

#include <vector>

namespace updraft {

/// A pass over data, before it is made.
struct PassDraft {
  Extent over;
  unsigned stage;
  llvm::SmallVector<ReduceOp> reductions = {};
  llvm::SmallVector<mlir::Value> made = {}; ///< values that later passes read
  /// The parameter or a state, and its next value.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> writes = {};
  Slice slice = {};

  bool isEmpty() const { return reductions.empty() && made.empty() && writes.empty(); }
  llvm::SmallVector<mlir::Value> roots() const;
};

/// The passes of a rule's plan in the order in which they run, which is that of their stages.
std::vector<PassDraft> draftPasses(RuleOp rule, const ExtentAnalysis &extents,
                                   const StageAnalysis &stages, llvm::ArrayRef<EarlyStore> stores);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_PASSDRAFTS_H
