//===- Extent.h - What the values of a rule are spread over -------------------------*- C++ -*-===//
// A value of a rule is the same for a whole model, parameter group or tensor, or it differs from
// element to element. The scheduler runs each operation at the extent found here.

#ifndef UPDRAFT_IR_EXTENT_H
#define UPDRAFT_IR_EXTENT_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace updraft {

class RuleOp;

/// A lattice as a bit set: a larger extent has the bits of every smaller one, so the join is the
/// union, and a row value combined with a column value is an element value.
enum class Extent : uint8_t {
  model = 0b0000,
  group = 0b0001,
  tensor = 0b0011,
  row = 0b0111,
  column = 0b1011,
  element = 0b1111
};

/// The smallest extent that both are within.
Extent join(Extent left, Extent right);

/// Whether a value of extent `inner` is constant over every place of `outer`.
bool isWithin(Extent inner, Extent outer);

llvm::StringRef stringify(Extent extent);

/// The extents of all values of a rule, by one forward walk over its block.
class ExtentAnalysis {
public:
  explicit ExtentAnalysis(RuleOp rule);

  /// `value` is defined in the rule.
  Extent of(mlir::Value value) const;

  /// The join over the operands of `operation`, or the extent of its results where it is an input.
  Extent of(mlir::Operation *operation) const;

  bool isElement(mlir::Value value) const { return of(value) == Extent::element; }

private:
  llvm::DenseMap<mlir::Operation *, Extent> extents;
};

} // namespace updraft

#endif // UPDRAFT_IR_EXTENT_H
