//===- Simplify.cpp - Fewer operations, the same bits -----------------------------------------===//
// Folding, exact algebra and common subexpressions on the bodies of rules. The patterns are those
// of the few operations that a rule is made of: collecting every dialect's would take longer than
// applying them.

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/ExactAlgebra.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/SharedReductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

struct SimplifyPass : impl::SimplifyPassBase<SimplifyPass> {
  using SimplifyPassBase::SimplifyPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateExactAlgebraPatterns(set);
    // Upstream's for `arith.truncf` are left out: one turns two roundings into one.
    arith::DivFOp::getCanonicalizationPatterns(set, context);
    arith::MulFOp::getCanonicalizationPatterns(set, context);
    arith::SelectOp::getCanonicalizationPatterns(set, context);
    arith::XOrIOp::getCanonicalizationPatterns(set, context);
    RequireOp::getCanonicalizationPatterns(set, context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // Rules that do not match are refused when they are scheduled.
    (void)numberSharedReductions(getOperation());
    for (auto rule : getOperation().getOps<RuleOp>())
      simplify(rule);
  }

  void simplify(RuleOp rule) {
    auto countOperations = [&] { return rule.getBody().front().getOperations().size(); };
    size_t before = countOperations();

    SharedReductionsHeld held(rule);
    while (rewriteBody(rule, patterns))
      ;
    size_t after = countOperations();
    if (after < before)
      removedOperations += before - after;
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace updraft
