//===- ExactAlgebra.cpp - Identities that hold bit for bit ------------------------------------===//
// What the declared rewrites ask of constants.

#include "Updraft/Transforms/ExactAlgebra.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

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

bool updraft::foldsInexactly(Operation &op) {
  return isa<math::ExpOp, math::LogOp, math::TanhOp, math::PowFOp>(op);
}

void updraft::populateExactAlgebraPatterns(RewritePatternSet &patterns) {
  populateWithGenerated(patterns);
}
