//===- SweepElements.cpp - The loop of a sweep over a sequence of elements --------------------===//
// Visits whole vectors, then the remainder: one iteration with masked accesses, or a loop of single
// elements.

#include "StorageTypes.h"
#include "SweepBuilder.h"
#include "ValueNames.h"
#include "VectorBody.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

// Visits elements [lower, upper).
void SweepBuilder::elementLoop(Value lower, Value upper) {
  forElements(lower, upper, elementsPerVector, [&](Value number, unsigned lanes, Value mask) {
    if (pairs && lanes == elementsPerVector)
      computePairs(number, mask);
    else
      computeElements({number, lanes, mask});
  });
}

void SweepBuilder::forElements(Value lower, Value upper, unsigned perVector, Elements body) {
  Value length = arith::SubIOp::create(builder, loc, upper, lower);
  Value whole = arith::AndIOp::create(builder, loc, length, constantI64(-int64_t(perVector)));
  Value middle = arith::AddIOp::create(builder, loc, lower, whole);
  elementsIn(lower, middle, constantI64(perVector), perVector, body);
  if (maskRemainder)
    maskedRemainder(middle, arith::SubIOp::create(builder, loc, length, whole), perVector, body);
  else
    elementsIn(middle, upper, constantI64(1), 1, body);
}

void SweepBuilder::elementsIn(Value lower, Value upper, Value step, unsigned lanes, Elements body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step);
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "i"));
  body(loop.getInductionVar(), lanes, {});
}

void SweepBuilder::maskedRemainder(Value start, Value count, unsigned lanes, Elements body) {
  OpBuilder::InsertionGuard guard(builder);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, count, constantI64(0));
  auto branch = scf::IfOp::create(builder, loc, some, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto laneNumbers = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value lane = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(laneNumbers));
  Value count32 = arith::TruncIOp::create(builder, loc, builder.getI32Type(), count);
  Value mask =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, lane, splat(count32, lanes));
  body(start, lanes, mask);
}

ElementPlace SweepBuilder::placeOf(const StreamAccess &stream, Value number) {
  if (Value start = originOf(stream))
    return {stream.elements, {start, number}};
  return {stream.elements, {number}};
}

BlockedStorage::Decoding SweepBuilder::decodingOf(const StreamAccess &stream, unsigned lanes) {
  const BlockAccess &block = blocks.find(stream.stream)->second;
  return lanes == 1 ? block.scalar : block.vector;
}

SmallVector<Value> SweepBuilder::bodyOf(ValueRange arguments, const ElementRange &range) {
  return cloneBody(builder, sweep, arguments, range.lanes, [&](Operation *op) {
    if (auto identity = dyn_cast<IdentityOp>(op))
      return identityAt(identity, range);
    return randomBits(cast<RandomOp>(op), add(origin.element, range.number), range.lanes);
  });
}

// Compares the distance to the diagonal with the numbers of the lanes.
Value SweepBuilder::identityAt(IdentityOp op, const ElementRange &range) {
  Value distance =
      splat(arith::SubIOp::create(builder, loc, origin.row, range.number), range.lanes);
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, range.lanes));
  Value lane;
  if (range.lanes == 1)
    lane = constantI64(0);
  else
    lane = arith::ConstantOp::create(builder, loc, builder.getI64VectorAttr(numbers));
  Value isDiagonal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, distance, lane);
  auto constant = [&](double value) {
    return splat(arith::ConstantOp::create(builder, loc, builder.getFloatAttr(op.getType(), value)),
                 range.lanes);
  };
  return arith::SelectOp::create(builder, loc, isDiagonal, constant(1), constant(0));
}

void SweepBuilder::addToLanes(size_t index, Value values, const ElementRange &range) {
  Value lane = arith::AndIOp::create(builder, loc, range.number, constantI64(UPD_LANES - 1));
  lanes[index]->add(builder, reductionLocation(index), lane, values, range.mask);
}

Value SweepBuilder::narrow(const StreamAccess &stream, Value values) {
  return stream.storage->narrow(builder, writeLocation(stream), values);
}

// Whether the sweep may produce a NaN with nonzero bits in its lower half. Streams and prologues
// supply no such NaN, and arithmetic returns the NaN of an operand or the processor's own. Only bit
// casts and constants can produce others.
static bool makesLongNaNs(SweepOp sweep) {
  return llvm::any_of(sweep.getBody().front(), [](Operation &op) {
    FloatAttr constant;
    if (!matchPattern(&op, m_Constant(&constant)) || !constant.getValue().isNaN())
      return isa<arith::BitcastOp>(op);
    llvm::APFloat single = constant.getValue();
    bool losesInfo;
    single.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return single.bitcastToAPInt().countr_zero() < 16;
  });
}

// Computes twice as many elements, in two vectors; only for a flat sequence of bf16.
void SweepBuilder::computePairs(Value number, Value mask) {
  SmallVector<Value> evenArguments = uniformArguments(vectorLanes), oddArguments(evenArguments);
  const ElementRange range = {number, elementsPerVector, mask};
  for (const StreamAccess &stream : reads) {
    Location name = stream.stream.getLoc();
    Value stored = read(name, placeOf(stream, number), stream.memoryType(), range);
    auto [even, odd] = widenBFloat16Pairs(builder, name, stored);
    evenArguments.push_back(even);
    oddArguments.push_back(odd);
  }
  SmallVector<Value> evens = cloneBody(builder, sweep, evenArguments, vectorLanes, {});
  SmallVector<Value> odds = cloneBody(builder, sweep, oddArguments, vectorLanes, {});
  bool shortNaNs = !makesLongNaNs(sweep);
  for (auto [even, odd, stream] : llvm::zip_equal(evens, odds, writes))
    write(writeLocation(stream),
          narrowBFloat16Pairs(builder, writeLocation(stream), even, odd, shortNaNs),
          placeOf(stream, number), range);
}

} // namespace updraft
