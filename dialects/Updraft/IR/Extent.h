//===- Extent.h - The extent of a rule's values -------------------------------------*- C++ -*-===//
// A value of a rule is either constant over a model, parameter group or tensor, or differs from
// element to element. The scheduler runs each operation at the extent found here.

#ifndef UPDRAFT_IR_EXTENT_H
#define UPDRAFT_IR_EXTENT_H

#include "Updraft/IR/UpdraftEnums.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace updraft {

class RuleOp;

/// Returns the extent of `value`, computed from its operands. Use this for single values of a rule
/// that is being changed.
Extent extentOf(mlir::Value value);

/// Computes the extents of all values of a rule in one forward walk over its block.
class ExtentAnalysis {
public:
  explicit ExtentAnalysis(RuleOp rule);

  /// `value` must be defined in the rule.
  Extent of(mlir::Value value) const;

  /// Returns the join over the operands of `operation`, or the result's extent if it is an input.
  Extent of(mlir::Operation *operation) const;

  /// Whether the host computes `value`; sweeps compute all others.
  bool isScalar(mlir::Value value) const { return isWithin(of(value), Extent::tensor); }

private:
  llvm::DenseMap<mlir::Operation *, Extent> extents;
};

} // namespace updraft

#endif // UPDRAFT_IR_EXTENT_H
