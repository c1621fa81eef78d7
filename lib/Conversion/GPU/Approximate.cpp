//===- Approximate.cpp - Approximate quotients and roots on GPUs ------------------------------===//
// Runs before the expansion of elementary functions, whose stated errors assume exact quotients.

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "updraft/Conversion/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_APPROXIMATEPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

#include "updraft/Conversion/Approximations.inc"

bool isApproximate(Operation &op) {
  auto arithmetic = dyn_cast<arith::ArithFastMathInterface>(op);
  auto flags = arithmetic ? arithmetic.getFastMathFlagsAttr() : arith::FastMathFlagsAttr();
  return flags && flags.getValue() == arith::FastMathFlags::afn;
}

struct ApproximatePass : impl::ApproximatePassBase<ApproximatePass> {
  using ApproximatePassBase::ApproximatePassBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateWithGenerated(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    for (PlanOp plan : formsIn<PlanOp>(getOperation()))
      if (plan.getFast())
        for (auto sweep : plan.getBody().getOps<SweepOp>())
          approximate(sweep);
  }

  void approximate(SweepOp sweep) {
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        .enableFolding(false)
        .enableConstantCSE(false);
    // Operations without a match are rounded to nearest.
    (void)applyPatternsGreedily(sweep.getBody(), patterns, config);
    approximatedOperations += llvm::count_if(sweep.getBody().front(), isApproximate);
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace updraft
