//===- Extent.cpp - The extent of a rule's values ---------------------------------------------===//

#include "Updraft/IR/Extent.h"

#include "Updraft/IR/MatrixFunctions.h"
#include "Updraft/IR/UpdraftOps.h"

using namespace mlir;
using namespace updraft;

using ExtentOf = llvm::function_ref<Extent(Value)>;

Extent HyperOp::inferExtent(ExtentOf) { return Extent::group; }
Extent StepOp::inferExtent(ExtentOf) { return Extent::tensor; }
Extent FirstOp::inferExtent(ExtentOf) { return Extent::tensor; }
Extent ParamOp::inferExtent(ExtentOf) { return Extent::element; }
Extent GradOp::inferExtent(ExtentOf) { return Extent::element; }
Extent StateOp::inferExtent(ExtentOf) { return getOver(); }
Extent RandomOp::inferExtent(ExtentOf) { return Extent::element; }
Extent ReduceOp::inferExtent(ExtentOf) { return getOver(); }
Extent IdentityOp::inferExtent(ExtentOf) { return getOver(); }
Extent BroadcastOp::inferExtent(ExtentOf) { return getOver(); }
Extent ProductOp::inferExtent(ExtentOf of) { return productOf(of(getLhs()), of(getRhs())); }
Extent TransposeOp::inferExtent(ExtentOf of) { return transposed(of(getInput())); }

// All rows of a tensor have the same number of columns.
Extent SizeOp::inferExtent(ExtentOf) {
  return isWithin(getOver(), Extent::group) ? Extent::group : Extent::tensor;
}

Extent ApplyOp::inferExtent(ExtentOf of) {
  // Only unverified IR has another number of operands.
  if (getInputs().size() != operandCount(getFunction()))
    return Extent::element;
  return extentOfApplied(getFunction(), llvm::map_to_vector(getInputs(), of));
}

/// Returns the extent of an operation's result. `of` gives the extents of its operands.
static Extent extentOfResult(Operation &operation, ExtentOf of) {
  if (auto known = dyn_cast<InferExtentOpInterface>(operation))
    return known.inferExtent(of);
  Extent extent = Extent::model;
  for (Value operand : operation.getOperands())
    extent = join(extent, of(operand));
  return extent;
}

static Extent extentOf(Value value, llvm::DenseMap<Operation *, Extent> &known) {
  Operation *operation = value.getDefiningOp();
  // Only unverified IR has a value from elsewhere. It could have any extent.
  if (!operation)
    return Extent::element;
  auto found = known.find(operation);
  if (found != known.end())
    return found->second;
  Extent extent =
      extentOfResult(*operation, [&](Value operand) { return extentOf(operand, known); });
  known[operation] = extent;
  return extent;
}

Extent updraft::extentOf(Value value) {
  llvm::DenseMap<Operation *, Extent> known;
  return ::extentOf(value, known);
}

ExtentAnalysis::ExtentAnalysis(RuleOp rule) {
  for (Operation &operation : rule.getBody().front())
    extents[&operation] = extentOfResult(operation, [&](Value operand) { return of(operand); });
}

Extent ExtentAnalysis::of(Value value) const { return of(value.getDefiningOp()); }

Extent ExtentAnalysis::of(Operation *operation) const {
  auto found = extents.find(operation);
  // Only unverified IR has a value from elsewhere. It could have any extent.
  return found == extents.end() ? Extent::element : found->second;
}
