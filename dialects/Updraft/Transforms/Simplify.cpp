//===- Simplify.cpp - Fewer operations, the same bits -----------------------------------------===//
// Folding, exact algebra and common subexpression elimination on the bodies of rules. Uses only the
// patterns of the few operations that rules contain: collecting those of every dialect would take
// longer than applying them.

#include "Updraft/IR/Extent.h"
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
    // Leaves out upstream's patterns for `arith.truncf`: one merges two roundings.
    arith::DivFOp::getCanonicalizationPatterns(set, context);
    arith::MulFOp::getCanonicalizationPatterns(set, context);
    arith::SelectOp::getCanonicalizationPatterns(set, context);
    arith::XOrIOp::getCanonicalizationPatterns(set, context);
    RequireOp::getCanonicalizationPatterns(set, context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // Scheduling rejects rules whose reductions don't match.
    (void)numberSharedReductions(getOperation());
    for (RuleOp rule : formsIn<RuleOp>(getOperation()))
      simplify(rule);
  }

  void simplify(RuleOp rule) {
    auto countOperations = [&] { return rule.getBody().front().getOperations().size(); };
    size_t before = countOperations();

    SharedReductionsHeld held(rule);
    while (rewriteBody(rule, patterns))
      ;
    for (auto broadcast : llvm::make_early_inc_range(rule.getBody().getOps<BroadcastOp>()))
      if (extentOf(broadcast.getInput()) == broadcast.getOver()) {
        broadcast.replaceAllUsesWith(broadcast.getInput());
        broadcast.erase();
      }
    size_t after = countOperations();
    if (after < before)
      removedOperations += before - after;
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace updraft
