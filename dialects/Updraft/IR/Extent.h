//===- Extent.h - What the values of a rule are spread over -------------------------*- C++ -*-===//
// A value of a rule is the same for a whole model, parameter group or tensor, or it differs from
// element to element. The scheduler runs each operation at the extent found here.

#ifndef UPDRAFT_IR_EXTENT_H
#define UPDRAFT_IR_EXTENT_H

#include "Updraft/IR/UpdraftEnums.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace updraft {

class RuleOp;

/// What `value` is spread over, found from what it is computed of: for single values of a rule that
/// is being changed.
Extent extentOf(mlir::Value value);

/// The extents of all values of a rule, by one forward walk over its block.
class ExtentAnalysis {
public:
  explicit ExtentAnalysis(RuleOp rule);

  /// `value` is defined in the rule.
  Extent of(mlir::Value value) const;

  /// The join over the operands of `operation`, or the extent of its results where it is an input.
  Extent of(mlir::Operation *operation) const;

  /// A scalar is computed by the host, other values in passes.
  bool isScalar(mlir::Value value) const { return isWithin(of(value), Extent::tensor); }

private:
  llvm::DenseMap<mlir::Operation *, Extent> extents;
};

} // namespace updraft

#endif // UPDRAFT_IR_EXTENT_H
