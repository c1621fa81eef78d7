//===- Extent.cpp - The extent of a rule's values ---------------------------------------------===//

#include "Updraft/IR/Extent.h"

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace updraft;

/// Returns the extent of an operation that does not depend on its operands; none for other
/// operations.
static std::optional<Extent> ownExtent(Operation &operation) {
  return TypeSwitch<Operation *, std::optional<Extent>>(&operation)
      .Case<HyperOp>([](auto) { return Extent::group; })
      .Case<StepOp, FirstOp>([](auto) { return Extent::tensor; })
      .Case<ParamOp, GradOp, RandomOp>([](auto) { return Extent::element; })
      .Case<StateOp, ReduceOp>([](auto op) { return op.getOver(); })
      // All rows of a tensor have the same number of columns.
      .Case<SizeOp>([](SizeOp size) {
        return isWithin(size.getOver(), Extent::group) ? Extent::group : Extent::tensor;
      })
      .Default([](Operation *) { return std::nullopt; });
}

Extent updraft::extentOf(Value value) {
  SmallVector<Value> open{value};
  DenseSet<Operation *> seen;
  Extent largest = Extent::model;
  while (!open.empty() && largest != Extent::element) {
    Operation *operation = open.pop_back_val().getDefiningOp();
    if (!operation)
      return Extent::element;
    if (!seen.insert(operation).second)
      continue;
    if (std::optional<Extent> own = ownExtent(*operation))
      largest = join(largest, *own);
    else
      llvm::append_range(open, operation->getOperands());
  }
  return largest;
}

ExtentAnalysis::ExtentAnalysis(RuleOp rule) {
  for (Operation &operation : rule.getBody().front()) {
    std::optional<Extent> extent = ownExtent(operation);
    if (!extent) {
      extent = Extent::model;
      for (Value operand : operation.getOperands())
        extent = join(*extent, of(operand));
    }
    extents[&operation] = *extent;
  }
}

Extent ExtentAnalysis::of(Value value) const { return of(value.getDefiningOp()); }

Extent ExtentAnalysis::of(Operation *operation) const {
  auto found = extents.find(operation);
  // Only unverified IR has a value from elsewhere. It could have any extent.
  return found == extents.end() ? Extent::element : found->second;
}
