//===- InvertDivisors.cpp - Division by a scalar as multiplication ----------------------------===//
// A CPU has a single unit for divisions, which limits a step with wide vectors. If the divisor is
// the same in every iteration, its reciprocal and a remainder give the same bits. The method is
// from N. Brisebarre, J.-M. Muller and S. Raina, "Accelerating correctly rounded floating-point
// division when the divisor is known in advance", 2004. QuotientTest checks all quotients of f32
// that could round differently.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "updraft/Conversion/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_INVERTDIVISORSPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// The values that all divisions by one scalar share.
struct Divisor {
  Value isOrdinary;        ///< for roots, nothing overflows or is denormal
  Value inverse, negative; ///< vectors
};

/// Roots of f32 are from 2^-75 to 2^64. With a divisor from 2^-24 to 2^24, the last bit of a
/// remainder is at least 2^-122, and no product overflows.
constexpr float largestDivisor = 0x1p24f;

Divisor makeDivisor(vector::BroadcastOp divisor) {
  OpBuilder builder(divisor->getContext());
  builder.setInsertionPointAfter(divisor);
  Location loc = divisor.getLoc();
  Value scalar = divisor.getSource();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  };
  auto broadcast = [&](Value value) -> Value {
    return vector::BroadcastOp::create(builder, loc, divisor.getType(), value);
  };
  auto compare = [&](arith::CmpFPredicate predicate, float bound) -> Value {
    return arith::CmpFOp::create(builder, loc, predicate, scalar, constant(bound));
  };
  Value isOrdinary =
      arith::AndIOp::create(builder, loc, compare(arith::CmpFPredicate::OGE, 1 / largestDivisor),
                            compare(arith::CmpFPredicate::OLE, largestDivisor));
  Value inverse = arith::DivFOp::create(builder, loc, constant(1), scalar);
  Value negative = arith::NegFOp::create(builder, loc, scalar);
  return {isOrdinary, broadcast(inverse), broadcast(negative)};
}

/// Divides roots by an ordinary divisor.
Value divide(OpBuilder &builder, Location loc, Value roots, const Divisor &divisor) {
  Value estimate = arith::MulFOp::create(builder, loc, roots, divisor.inverse);
  Value remainder = math::FmaOp::create(builder, loc, divisor.negative, estimate, roots);
  Value nearest = math::FmaOp::create(builder, loc, remainder, divisor.inverse, estimate);
  // An infinite root has no remainder. For a zero remainder, the correction would lose the sign of
  // -0.
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(roots.getType()));
  Value hasRemainder =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ONE, remainder, zero);
  return arith::SelectOp::create(builder, loc, hasRemainder, nearest, estimate);
}

/// Returns the divisor, which is the same for all elements, if `division` divides f32 roots.
vector::BroadcastOp divisorOfRoots(arith::DivFOp division, scf::ForOp loop) {
  auto divisor = division.getRhs().getDefiningOp<vector::BroadcastOp>();
  bool isOfRoots = divisor && isa<Float32Type>(divisor.getSource().getType()) &&
                   loop.isDefinedOutsideOfLoop(divisor) &&
                   division.getLhs().getDefiningOp<math::SqrtOp>();
  return isOfRoots ? divisor : vector::BroadcastOp();
}

/// Divisors by their broadcasts, which are not moved.
using Divisors = llvm::DenseMap<vector::BroadcastOp, Divisor>;

const Divisor &divisorOf(arith::DivFOp division, Divisors &divisors) {
  auto broadcast = division.getRhs().getDefiningOp<vector::BroadcastOp>();
  auto [entry, isNew] = divisors.try_emplace(broadcast);
  if (isNew)
    entry->second = makeDivisor(broadcast);
  return entry->second;
}

Value areOrdinary(OpBuilder &builder, Location loc, ArrayRef<arith::DivFOp> divisions,
                  Divisors &divisors) {
  llvm::SmallSetVector<Value, 2> conditions;
  for (arith::DivFOp division : divisions)
    conditions.insert(divisorOf(division, divisors).isOrdinary);
  Value all = conditions.front();
  for (Value condition : llvm::drop_begin(conditions))
    all = arith::AndIOp::create(builder, loc, all, condition);
  return all;
}

/// Replaces a loop by two: one for ordinary divisors, and the original. Returns the number of
/// divisions that became products.
unsigned invertDivisors(scf::ForOp loop, Divisors &divisors) {
  SmallVector<arith::DivFOp> divisions;
  for (auto division : loop.getBody()->getOps<arith::DivFOp>())
    if (divisorOfRoots(division, loop))
      divisions.push_back(division);
  if (divisions.empty())
    return 0;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto cloneLoop = [&](IRMapping &map) {
    return [&](OpBuilder &nested, Location) {
      scf::YieldOp::create(nested, loc, nested.clone(*loop, map)->getResults());
    };
  };
  IRMapping inverted, dividing;
  auto versions = scf::IfOp::create(builder, loc, areOrdinary(builder, loc, divisions, divisors),
                                    cloneLoop(inverted), cloneLoop(dividing));
  for (arith::DivFOp original : divisions) {
    auto division = cast<arith::DivFOp>(inverted.lookup(original.getOperation()));
    OpBuilder inLoop(division);
    division.replaceAllUsesWith(
        divide(inLoop, division.getLoc(), division.getLhs(), divisorOf(original, divisors)));
    division.erase();
  }
  loop.replaceAllUsesWith(versions);
  loop.erase();
  return divisions.size();
}

struct InvertDivisorsPass : impl::InvertDivisorsPassBase<InvertDivisorsPass> {
  using InvertDivisorsPassBase::InvertDivisorsPassBase;

  void runOnOperation() override {
    Divisors divisors;
    getOperation().walk<WalkOrder::PostOrder>(
        [&](scf::ForOp loop) { invertedDivisions += invertDivisors(loop, divisors); });
  }
};

} // namespace
} // namespace updraft
