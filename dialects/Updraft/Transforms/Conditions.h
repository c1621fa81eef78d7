//===- Conditions.h - When the step needs a value -----------------------------------*- C++ -*-===//
// A rule chooses between values by `arith.select`. If the condition is a scalar that is known
// before the first sweep, the step needs only one of the two, so that products and sweeps for the
// other one can be left out.

#ifndef UPDRAFT_TRANSFORMS_CONDITIONS_H
#define UPDRAFT_TRANSFORMS_CONDITIONS_H

#include "Updraft/Transforms/Stages.h"

namespace updraft {

/// A flag, and the value that it must have.
using Literal = std::pair<mlir::Value, bool>;
/// Literals that all hold. An empty one holds in every step.
using Conjunction = llvm::SmallVector<Literal, 2>;
/// Conjunctions of which at least one holds. An empty one holds in no step.
using Disjunction = llvm::SmallVector<Conjunction, 2>;

/// Returns what holds if one of the two does, or, if that has more than a few conjunctions,
/// something that holds more often.
Disjunction either(const Disjunction &left, const Disjunction &right);

/// Whether a condition holds in every step.
bool isAlways(const Disjunction &condition);

class Conditions {
public:
  Conditions(RuleOp rule, const ExtentAnalysis &extents, const StageAnalysis &stages);

  /// Returns a condition of the steps that need the value.
  Disjunction neededWhen(mlir::Value value) const;
  /// Visits the values among which known flags choose `value`, with what holds if they choose it.
  /// A value for which `isBranch` holds is visited even if it is a choice, and so is a choice after
  /// many branches.
  void forBranches(mlir::Value value, llvm::function_ref<bool(mlir::Value)> isBranch,
                   llvm::function_ref<void(mlir::Value, const Conjunction &)> visit) const;

  /// Returns a flag of the rule for a condition that doesn't hold in every step. Adds operations at
  /// the end of the rule if there is none.
  mlir::Value flagOf(const Disjunction &condition);

private:
  bool isKnownFlag(mlir::Value condition) const;
  void need(mlir::Value value, const Disjunction &when);

  RuleOp rule;
  const ExtentAnalysis &extents;
  const StageAnalysis &stages;
  llvm::DenseMap<mlir::Value, Disjunction> needed;
  std::vector<std::pair<Disjunction, mlir::Value>> flags;
};

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_CONDITIONS_H
