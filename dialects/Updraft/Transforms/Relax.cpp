//===- Relax.cpp - Fewer and cheaper operations, with other bits ------------------------------===//
// The rewrites of the numerics mode `fast` on the tensor arithmetic of rules. They don't depend on
// the target, so their results have the same bits everywhere.

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/ExactAlgebra.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/SharedReductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_RELAXPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

/// Whether the extent is at most that of a tensor. Most values that aren't scalars have an operand
/// that tells, so this doesn't look at all operations before the value, as `extentOf` does.
bool isOfTensor(Value value) {
  SmallVector<Operation *> open;
  llvm::DenseSet<Operation *> seen;
  const auto mayBe = [&](Value next) {
    Operation *operation = next.getDefiningOp();
    if (!operation || isa<InferExtentOpInterface>(operation))
      return isWithin(extentOf(next), Extent::tensor);
    if (seen.insert(operation).second)
      open.push_back(operation);
    return true;
  };
  if (!mayBe(value))
    return false;
  while (!open.empty())
    if (!llvm::all_of(open.pop_back_val()->getOperands(), mayBe))
      return false;
  return true;
}

/// Types wider than f64 are not element types in memory. They don't change.
bool isScalar(Value value) {
  return value.getType().getIntOrFloatBitWidth() <= 64 && isOfTensor(value);
}

bool isOwnProduct(Value product) { return product.hasOneUse() && !isScalar(product); }

/// Returns the scalar before its rounding to the element type.
Value widened(OpBuilder &builder, Location loc, Value scalar) {
  auto rounded = scalar.getDefiningOp<arith::TruncFOp>();
  if (rounded && rounded.getIn().getType().isF64())
    return rounded.getIn();
  return scalar.getType().isF64()
             ? scalar
             : arith::ExtFOp::create(builder, loc, builder.getF64Type(), scalar).getResult();
}

/// Rounds the f64 scalar to the element type.
Value rounded(OpBuilder &builder, Location loc, Value scalar, Type type) {
  return type.isF64() ? scalar : arith::TruncFOp::create(builder, loc, type, scalar).getResult();
}

Value inverseOf(OpBuilder &builder, Location loc, Value scalar) {
  Value one = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(1));
  Value inverse = arith::DivFOp::create(builder, loc, one, widened(builder, loc, scalar));
  return rounded(builder, loc, inverse, scalar.getType());
}

Value productOf(OpBuilder &builder, Location loc, Value left, Value right) {
  Value product = arith::MulFOp::create(builder, loc, widened(builder, loc, left),
                                        widened(builder, loc, right));
  return rounded(builder, loc, product, left.getType());
}

namespace merging {
#include "Updraft/Transforms/RelaxedAlgebra.inc"
} // namespace merging

namespace fusing {
#include "Updraft/Transforms/Contraction.inc"
} // namespace fusing

struct CountRewrites : RewriterBase::Listener {
  void notifyPatternEnd(const Pattern &, LogicalResult status) override {
    count += succeeded(status);
  }
  unsigned count = 0;
};

struct RelaxPass : impl::RelaxPassBase<RelaxPass> {
  using RelaxPassBase::RelaxPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet merging(context), fusing(context);
    merging::populateWithGenerated(merging);
    // Folds scalars whose operands became constants.
    populateExactAlgebraPatterns(merging);
    fusing::populateWithGenerated(fusing);
    phases[0] = std::move(merging);
    phases[1] = std::move(fusing);
    return success();
  }

  void runOnOperation() override {
    // Scheduling rejects rules whose reductions don't match.
    (void)numberSharedReductions(getOperation());
    for (RuleOp rule : formsIn<RuleOp>(getOperation()))
      if (rule.getFast())
        relax(rule);
  }

  void relax(RuleOp rule) {
    SharedReductionsHeld held(rule);
    CountRewrites rewrites;
    // If several tensors are scaled by the same scalars, the merged scalar is computed once.
    for (const FrozenRewritePatternSet &patterns : phases)
      rewriteBody(rule, patterns, &rewrites);
    appliedRewrites += rewrites.count;
  }

  FrozenRewritePatternSet phases[2];
};

} // namespace
} // namespace updraft
