//===- Extent.cpp - The extent of a rule's values ---------------------------------------------===//

#include "Updraft/IR/Extent.h"

#include "Updraft/IR/MatrixFunctions.h"
#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace updraft;

/// Returns the extent of an operation's result. `of` gives the extents of its operands.
static Extent extentOfResult(Operation &operation, llvm::function_ref<Extent(Value)> of) {
  return TypeSwitch<Operation *, Extent>(&operation)
      .Case<HyperOp>([](auto) { return Extent::group; })
      .Case<StepOp, FirstOp>([](auto) { return Extent::tensor; })
      .Case<ParamOp, GradOp, RandomOp>([](auto) { return Extent::element; })
      .Case<StateOp, ReduceOp, IdentityOp>([](auto op) { return op.getOver(); })
      // All rows of a tensor have the same number of columns.
      .Case<SizeOp>([](SizeOp size) {
        return isWithin(size.getOver(), Extent::group) ? Extent::group : Extent::tensor;
      })
      .Case(
          [&](ProductOp product) { return productOf(of(product.getLhs()), of(product.getRhs())); })
      .Case([&](TransposeOp transpose) { return transposed(of(transpose.getInput())); })
      .Case([&](ApplyOp apply) {
        // Only unverified IR has another number of operands.
        if (apply.getInputs().size() != operandCount(apply.getFunction()))
          return Extent::element;
        return extentOfApplied(
            apply.getFunction(),
            llvm::map_to_vector(apply.getInputs(), [&](Value operand) { return of(operand); }));
      })
      .Default([&](Operation *other) {
        Extent extent = Extent::model;
        for (Value operand : other->getOperands())
          extent = join(extent, of(operand));
        return extent;
      });
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
