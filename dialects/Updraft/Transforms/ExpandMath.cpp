//===- ExpandMath.cpp - Mathematical functions as arithmetic ----------------------------------===//
// Expands elementary functions, and in plans `math.fpowi` by squaring, in the order that
// docs/dialect.md fixes. The bits don't depend on a C library and match the reference interpreter.
// updraft-outline-math handles the elementary functions of host functions, and of sweeps with many
// of them, and expands each function once.

#include "Updraft/Transforms/ExpandMath.h"

#include "Math/Functions.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

Value createFloat(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

Value createInteger(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}

/// Multiplies out a constant exponent without a loop. 1 * x is x, so the product starts with the
/// first factor.
Value powerOfConstant(ImplicitLocOpBuilder &b, Value base, const APInt &exponent) {
  Value result, factor = base;
  // abs() of the smallest integer is also correct when read as unsigned.
  for (APInt rest = exponent.abs(); !rest.isZero();) {
    if (rest[0])
      result = result ? arith::MulFOp::create(b, result, factor) : factor;
    rest.lshrInPlace(1);
    if (!rest.isZero())
      factor = arith::MulFOp::create(b, factor, factor);
  }
  Value one = !result || exponent.isNegative() ? createFloat(b, base.getType(), 1.0) : Value();
  if (!result)
    return one;
  return exponent.isNegative() ? arith::DivFOp::create(b, one, result) : result;
}

/// Computes a power in a loop with one iteration per bit of the exponent.
Value powerInLoop(ImplicitLocOpBuilder &b, Value base, Value exponent) {
  // The shift below needs an integer of more than one bit.
  if (exponent.getType().getIntOrFloatBitWidth() < 64)
    exponent = arith::ExtSIOp::create(b, b.getI64Type(), exponent);
  Type integer = exponent.getType(), floating = base.getType();
  Value zero = createInteger(b, integer, 0), bit = createInteger(b, integer, 1);
  Value one = createFloat(b, floating, 1.0);
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, exponent, zero);
  Value opposite = arith::SubIOp::create(b, zero, exponent);
  Value absolute = arith::SelectOp::create(b, isNegative, opposite, exponent);

  auto loop = scf::WhileOp::create(
      b, TypeRange{integer, floating, floating}, ValueRange{absolute, base, one},
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        Value more = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ne, state[0], zero);
        scf::ConditionOp::create(nested, loc, more, state);
      },
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        ImplicitLocOpBuilder inner(loc, nested);
        Value rest = state[0], factor = state[1], result = state[2];
        Value lowest = arith::AndIOp::create(inner, rest, bit);
        Value isOdd = arith::CmpIOp::create(inner, arith::CmpIPredicate::ne, lowest, zero);
        Value product = arith::MulFOp::create(inner, result, factor);
        Value nextResult = arith::SelectOp::create(inner, isOdd, product, result);
        Value nextRest = arith::ShRUIOp::create(inner, rest, bit);
        // The square after the last bit is unused.
        Value nextFactor = arith::MulFOp::create(inner, factor, factor);
        scf::YieldOp::create(inner, ValueRange{nextRest, nextFactor, nextResult});
      });
  Value power = loop.getResult(2);
  Value inverse = arith::DivFOp::create(b, one, power);
  return arith::SelectOp::create(b, isNegative, inverse, power);
}

/// Returns the expansion of `op`, an elementary function.
Value expandFunction(Operation *op) {
  expansion::ScalarBuilder make(op->getLoc(), op);
  auto operand = [&](unsigned index) { return expansion::Real{&make, op->getOperand(index)}; };
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return expansion::exp(operand(0)).value; })
      .Case([&](math::LogOp) { return expansion::log(operand(0)).value; })
      .Case([&](math::TanhOp) { return expansion::tanh(operand(0)).value; })
      .Case([&](math::PowFOp) { return expansion::pow(operand(0), operand(1)).value; });
}

struct ExpandMathPass : impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    // The limit on functions is one of sweeps. A rule has none.
    for (RuleOp rule : formsIn<RuleOp>(getOperation()))
      expandedOperations += expandFunctions(rule);
    for (PlanOp plan : formsIn<PlanOp>(getOperation()))
      expandIn(plan);
  }

  void expandIn(PlanOp plan) {
    auto sweeps = plan.getBody().getOps<SweepOp>();
    unsigned count = 0;
    for (SweepOp sweep : sweeps)
      count += countElementaryFunctions(sweep);
    if (count <= maxInlineFunctions)
      for (SweepOp sweep : sweeps)
        expandedOperations += expandFunctions(sweep);
    SmallVector<math::FPowIOp> loops;
    plan.walk([&](math::FPowIOp power) {
      // Plans have no powers of vectors.
      if (!isa<FloatType>(power.getType()) || !isa<IntegerType>(power.getRhs().getType()))
        return;
      if (!matchPattern(power.getRhs(), m_Constant())) {
        // A loop per element would be too slow; the lowering reports which operations it supports.
        if (!power->getParentOfType<SweepOp>())
          loops.push_back(power);
        return;
      }
      expandPower(power);
      ++expandedOperations;
    });
    if (loops.size() > maxInlineFunctions)
      return;
    for (math::FPowIOp power : loops)
      expandPower(power);
    expandedOperations += loops.size();
  }
};

} // namespace

bool isElementaryFunction(Operation *op) {
  return isa<math::ExpOp, math::LogOp, math::TanhOp, math::PowFOp>(op) &&
         isa<Float32Type, Float64Type>(getElementTypeOrSelf(op->getResult(0).getType()));
}

unsigned expandFunctions(Operation *root) {
  unsigned count = 0;
  root->walk([&](Operation *op) {
    if (!isElementaryFunction(op) || isa<VectorType>(op->getResult(0).getType()))
      return;
    Value expanded = expandFunction(op);
    // The result keeps its name in the source.
    expanded.getDefiningOp()->setLoc(op->getLoc());
    op->replaceAllUsesWith(ValueRange(expanded));
    op->erase();
    ++count;
  });
  return count;
}

void expandPower(math::FPowIOp power) {
  ImplicitLocOpBuilder b(power.getLoc(), power);
  APInt exponent;
  Value expanded = matchPattern(power.getRhs(), m_ConstantInt(&exponent))
                       ? powerOfConstant(b, power.getLhs(), exponent)
                       : powerInLoop(b, power.getLhs(), power.getRhs());
  power.replaceAllUsesWith(expanded);
  power.erase();
}

unsigned countElementaryFunctions(Operation *root) {
  unsigned count = 0;
  root->walk([&](Operation *op) { count += isElementaryFunction(op); });
  return count;
}

} // namespace updraft
