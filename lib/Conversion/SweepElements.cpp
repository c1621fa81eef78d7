//===- SweepElements.cpp - The loop of a sweep over a sequence of elements --------------------===//
// Visits whole vectors, then the remainder: one iteration with masked accesses, or a loop of single
// elements.

#include "KernelMemory.h"
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
void SweepBuilder::elementLoop(Value lower, Value upper, const LoopOrigin &origin) {
  forElements(lower, upper, elementsPerVector, [&](Value number, unsigned lanes, Value mask) {
    if (pairs && lanes == elementsPerVector)
      computePairsAt(number, mask);
    else
      computeAt(number, origin, lanes, mask);
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

// Loads the values of `stream` for an iteration, as `type`.
Value SweepBuilder::loadOperand(const StreamAccess &stream, Type type, Value number,
                                const LoopOrigin &origin, unsigned lanes, Value mask) {
  Extent over = stream.over();
  bool ofElements = over == sweep.getOver();
  if (!ofElements && over != Extent::column) {
    const Uniform &value = uniforms.find(stream.stream)->second;
    return lanes == 1 ? value.scalar : value.vector;
  }
  Location name = stream.stream.getLoc();
  Value index = add(ofElements ? origin.element : origin.column, number);
  if (stream.blocks) {
    const BlockAccess &block = blocks.find(stream.stream)->second;
    Value codes = loadElements(builder, name, laneType(builder.getI8Type(), lanes),
                               addressOf(stream, index), mask);
    return stream.blocks->widen(builder, name, codes, lanes == 1 ? block.scalar : block.vector,
                                type);
  }
  Type memory = laneType(stream.storage->memoryType(builder.getContext()), lanes);
  Value stored = loadElements(builder, name, memory, addressOf(stream, index), mask);
  return stream.storage->widen(builder, name, stored, type);
}

// Computes the elements from `number` on: a whole vector, or its lanes in `mask`.
void SweepBuilder::computeAt(Value number, const LoopOrigin &origin, unsigned lanes, Value mask) {
  SmallVector<Value> arguments = uniformArguments(lanes);
  auto blockArguments = sweep.getBody().getArguments().drop_front(arguments.size());
  for (auto [stream, argument] : llvm::zip_equal(reads, blockArguments))
    arguments.push_back(loadOperand(stream, argument.getType(), number, origin, lanes, mask));
  SmallVector<Value> results = cloneBody(builder, sweep, arguments, lanes, [&](RandomOp op) {
    return randomBits(op, add(origin.element, number), lanes);
  });
  // The operands of `updraft.store` are in the order: writes, reductions, temporaries.
  ArrayRef<Value> values(results);
  size_t written = sweep.getWrites().size();
  reduceAt(values.slice(written, reductions.size()), number, origin, mask);
  SmallVector<Value> stored(values.take_front(written));
  llvm::append_range(stored, values.drop_front(written + reductions.size()));
  storeResults(stored, number, origin, mask);
}

void SweepBuilder::storeResults(ValueRange values, Value number, const LoopOrigin &origin,
                                Value mask) {
  for (auto [value, stream] : llvm::zip_equal(values, writes)) {
    if (stream.blocks) {
      keepBlockValues(stream, value, number);
      continue;
    }
    Value stored = stream.storage->narrow(builder, loc, value);
    storeElements(builder, loc, stored, addressOf(stream, add(origin.element, number)), mask);
  }
}

void SweepBuilder::reduceAt(ValueRange values, Value number, const LoopOrigin &origin, Value mask) {
  if (reductions.empty())
    return;
  Value lane = arith::AndIOp::create(builder, loc, number, constantI64(UPD_LANES - 1));
  for (auto [value, access, sums] : llvm::zip_equal(values, reductions, lanes)) {
    if (sums)
      sums->add(builder, loc, lane, value, mask);
    else
      accumulate(builder, loc, access.reduction.getKind(), value,
                 addressOf(*access.stream, add(origin.sum, number)), mask);
  }
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
void SweepBuilder::computePairsAt(Value number, Value mask) {
  SmallVector<Value> evenArguments = uniformArguments(vectorLanes), oddArguments(evenArguments);
  Type type = laneType(builder.getI16Type(), 2 * vectorLanes);
  for (const StreamAccess &stream : reads) {
    Value stored =
        loadElements(builder, stream.stream.getLoc(), type, addressOf(stream, number), mask);
    auto [even, odd] = widenBFloat16Pairs(builder, stream.stream.getLoc(), stored);
    evenArguments.push_back(even);
    oddArguments.push_back(odd);
  }
  SmallVector<Value> evens = cloneBody(builder, sweep, evenArguments, vectorLanes, {});
  SmallVector<Value> odds = cloneBody(builder, sweep, oddArguments, vectorLanes, {});
  bool shortNaNs = !makesLongNaNs(sweep);
  for (auto [even, odd, stream] : llvm::zip_equal(evens, odds, writes)) {
    Value stored = narrowBFloat16Pairs(builder, loc, even, odd, shortNaNs);
    storeElements(builder, loc, stored, addressOf(stream, number), mask);
  }
}

} // namespace updraft
