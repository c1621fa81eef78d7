//===- ExactAlgebra.cpp - Identities that hold bit for bit ------------------------------------===//
// Constraints on constants for the declared rewrites.

#include "Updraft/Transforms/ExactAlgebra.h"

#include "Updraft/IR/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace updraft;

namespace {

bool isMinusOne(Attribute constant) {
  auto value = dyn_cast<FloatAttr>(constant);
  return value && value.getValue().isExactlyValue(-1.0);
}

bool hasExactInverse(Attribute constant) {
  auto value = dyn_cast<FloatAttr>(constant);
  return value && value.getValue().getExactInverse(nullptr);
}

TypedAttr exactInverse(Attribute constant) {
  auto value = cast<FloatAttr>(constant);
  APFloat inverse = value.getValue();
  value.getValue().getExactInverse(&inverse);
  return FloatAttr::get(value.getType(), inverse);
}

TypedAttr negated(Attribute constant) {
  auto value = cast<FloatAttr>(constant);
  return FloatAttr::get(value.getType(), llvm::neg(value.getValue()));
}

TypedAttr roundedTo(Type type, Attribute constant) {
  APFloat value = cast<FloatAttr>(constant).getValue();
  bool losesInfo = false;
  value.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return FloatAttr::get(type, value);
}

#include "Updraft/Transforms/ExactAlgebra.inc"

} // namespace

// Upstream folds a constant operand with the C library's function, whose bits differ from those of
// the expansion by `updraft-expand-math`.
static bool foldsInexactly(Operation &op) {
  return isa<math::ExpOp, math::LogOp, math::TanhOp, math::PowFOp>(op);
}

bool updraft::rewriteBody(RuleOp rule, const FrozenRewritePatternSet &patterns,
                          RewriterBase::Listener *listener) {
  SmallVector<Operation *> operations;
  for (Operation &op : rule.getBody().front())
    if (!foldsInexactly(op))
      operations.push_back(&op);
  GreedyRewriteConfig config;
  config.setListener(listener)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
      .setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  // If the driver's limits stop it early, the rule is still correct.
  (void)applyOpPatternsGreedily(operations, patterns, config);
  LocationFuser fuser;
  IRRewriter rewriter(rule.getContext(), &fuser);
  DominanceInfo dominance(rule);
  bool changed = false;
  eliminateCommonSubExpressions(rewriter, dominance, rule, &changed);
  return changed;
}

void updraft::populateExactAlgebraPatterns(RewritePatternSet &patterns) {
  populateWithGenerated(patterns);
}
