//===- Conditions.h - When the step needs a value -----------------------------------*- C++ -*-===//
// A rule chooses between values by `arith.select`. If the condition is a scalar that is known
// before the first sweep, the step needs only one of the two, so that products and sweeps for the
// other one can be left out.

#ifndef UPDRAFT_TRANSFORMS_CONDITIONS_H
#define UPDRAFT_TRANSFORMS_CONDITIONS_H

#include "Updraft/Transforms/Stages.h"

namespace updraft {

class Conditions {
public:
  /// A flag, and the value that it must have.
  using Literal = std::pair<mlir::Value, bool>;
  /// Literals that all hold. Nothing is needed more often than with none.
  using Conjunction = llvm::SmallVector<Literal, 2>;

  Conditions(RuleOp rule, const ExtentAnalysis &extents, const StageAnalysis &stages);

  /// Returns the literals that hold in every step that needs the value.
  Conjunction neededWhen(mlir::Value value) const;
  /// Returns the literals that hold in every step in which storing `next` changes the parameter or
  /// state `current`.
  Conjunction changesWhen(mlir::Value current, mlir::Value next) const;
  /// Returns the literals of both: they hold in every step that needs one of two things.
  static Conjunction either(const Conjunction &left, const Conjunction &right);

  /// Returns a flag of the rule for a conjunction that isn't empty. Adds operations at the end of
  /// the rule if there is none.
  mlir::Value flagOf(const Conjunction &conjunction);

private:
  bool isKnownFlag(mlir::Value condition) const;
  void need(mlir::Value value, const Conjunction &when);

  RuleOp rule;
  const ExtentAnalysis &extents;
  const StageAnalysis &stages;
  llvm::DenseMap<mlir::Value, Conjunction> needed;
  std::vector<std::pair<Conjunction, mlir::Value>> flags;
};

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_CONDITIONS_H
