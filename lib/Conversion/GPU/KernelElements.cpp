//===- KernelElements.cpp - Elements of a sequence, shared by threads -------------------------===//

#include "../Accumulators.h"
#include "../ValueNames.h"
#include "../VectorBody.h"
#include "SweepKernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace updraft {

constexpr unsigned computedTogether = 2;

// Begins a sequence, whose elements have 32-bit numbers.
void SweepKernel::enter(const LoopOrigin &start) {
  origin = start;
  here.clear();
  for (StreamAccess *stream : allStreams())
    if (isOfSequence(*stream))
      here[stream->stream] = ShiftOp::create(builder, loc, stream->elements, originOf(*stream));
}

ElementPlace SweepKernel::placeOf(const StreamAccess &stream, Value number) {
  return {here.lookup(stream.stream), {number}};
}

// Updates a sequence without reductions: whole vectors if streams are aligned, then single
// elements.
void SweepKernel::update(Value length, Value aligned) {
  Value whole = arith::AndIOp::create(builder, loc, length, constantI32(-int64_t(vectorLanes)));
  Value zero = constantI32(0);
  Value middle = arith::SelectOp::create(builder, named(loc, "middle"), aligned, whole, zero);
  vectorLoop(zero, middle, vectorLanes, {}, [&](Value number, ValueRange) {
    return computeAt({number, vectorLanes, {}, /*isAligned=*/true}, {});
  });
  vectorLoop(middle, length, 1, {},
             [&](Value number, ValueRange) { return computeAt({number}, {}); });
}

SmallVector<Value> SweepKernel::compute(Value length, Value aligned, ValueRange carried) {
  if (byQuantBlocks)
    return computeBlocks(length, aligned, carried);
  return walk(length, aligned, carried,
              [&](Value number, Value mask, ValueRange before, bool isAligned) {
                return computeAt({number, vectorLanes, mask, isAligned}, before);
              });
}

// Visits a sequence in vectors; `aligned` may be null. Returns the values that `body` carries.
SmallVector<Value> SweepKernel::walk(Value length, Value aligned, ValueRange carried,
                                     Vectors body) {
  Value middle = arith::AndIOp::create(builder, named(loc, "middle"), length,
                                       constantI32(-int64_t(vectorLanes)));
  auto loop = [&](bool isAligned) {
    return vectorLoop(
        constantI32(0), middle, vectorLanes, carried,
        [&](Value number, ValueRange before) { return body(number, {}, before, isAligned); });
  };
  return remainder(middle, length, eitherWay(aligned, carried.getTypes(), loop), body);
}

SmallVector<Value> SweepKernel::eitherWay(Value aligned, TypeRange results,
                                          llvm::function_ref<SmallVector<Value>(bool)> body) {
  if (!aligned)
    return body(false);
  auto branch = scf::IfOp::create(builder, loc, results, aligned, /*withElseRegion=*/true);
  for (bool isAligned : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isAligned ? branch.thenBlock() : branch.elseBlock());
    SmallVector<Value> made = body(isAligned);
    if (!results.empty())
      scf::YieldOp::create(builder, loc, made);
  }
  return branch.getResults();
}

// Visits elements [lower, upper); each thread takes `perThread` at a time.
SmallVector<Value>
SweepKernel::vectorLoop(Value lower, Value upper, unsigned perThread, ValueRange carried,
                        llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  Value offset = perThread == 1 ? member : multiply(member, constantI32(perThread));
  Value first = arith::AddIOp::create(builder, loc, lower, offset);
  auto loop = scf::ForOp::create(builder, loc, first, upper,
                                 constantI32(int64_t(members) * perThread), carried);
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(named(loc, "i"));
  SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, results);
  return loop.getResults();
}

// Visits the end of a sequence, less than a vector, in the thread whose turn it would be.
SmallVector<Value> SweepKernel::remainder(Value lower, Value upper, ValueRange carried,
                                          Vectors body) {
  OpBuilder::InsertionGuard guard(builder);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
  Value vectors =
      arith::ShRUIOp::create(builder, loc, lower, constantI32(llvm::Log2_32(vectorLanes)));
  Value next = arith::AndIOp::create(builder, loc, vectors, constantI32(members - 1));
  Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, member);
  Value taken = arith::AndIOp::create(builder, loc, some, mine);
  auto branch = scf::IfOp::create(builder, loc, carried.getTypes(), taken, !carried.empty());
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> results = body(lower, lanesBelow(lower, upper), carried, /*aligned=*/false);
  if (carried.empty())
    return {};
  scf::YieldOp::create(builder, loc, results);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, carried);
  return branch.getResults();
}

// Returns a mask of the lanes, in the vector from `number` on, that lie before `end`.
Value SweepKernel::lanesBelow(Value number, Value end) {
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(vectorLanes)));
  Value lane = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(numbers));
  Value left = arith::SubIOp::create(builder, loc, end, number);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lane,
                               splat(left, vectorLanes));
}

// Computes the body for a vector of elements, a few at a time, to limit the registers that a thread
// needs for intermediate values.
SmallVector<Value> SweepKernel::bodyOf(ValueRange arguments, const ElementRange &range) {
  const unsigned lanes = range.lanes, part = std::min(lanes, computedTogether);
  SmallVector<Value> results;
  for (unsigned first = 0; first < lanes; first += part) {
    auto partOf = [&](Value value) -> Value {
      if (part == lanes)
        return value;
      return vector::ShuffleOp::create(
          builder, loc, value, value,
          llvm::to_vector(llvm::seq<int64_t>(first, first + int64_t(part))));
    };
    auto byPlace = [&](Operation *op) {
      if (auto identity = dyn_cast<IdentityOp>(op))
        return identityAt(identity, range.number, first, part);
      Value number = arith::ExtUIOp::create(builder, loc, i64, range.number);
      Value inTensor = add(origin.element, number);
      return randomBits(cast<RandomOp>(op),
                        first == 0 ? inTensor : add(inTensor, constantI64(first)), part);
    };
    SmallVector<Value> some =
        cloneBody(builder, sweep, llvm::map_to_vector(arguments, partOf), part, byPlace);
    if (first == 0) {
      results = some;
      continue;
    }
    for (auto [before, value] : llvm::zip_equal(results, some))
      before =
          vector::ShuffleOp::create(builder, loc, before, value,
                                    llvm::to_vector(llvm::seq<int64_t>(0, first + int64_t(part))));
  }
  return results;
}

// Returns the identity's values in `part` columns from `number` + `first` on. Compares the distance
// to the diagonal with the numbers of the lanes.
Value SweepKernel::identityAt(IdentityOp op, Value number, unsigned first, unsigned part) {
  Value row = arith::TruncIOp::create(builder, loc, builder.getI32Type(), origin.row);
  Value distance = splat(arith::SubIOp::create(builder, loc, row, number), part);
  auto numbers = llvm::to_vector(
      llvm::seq<int32_t>(static_cast<int32_t>(first), static_cast<int32_t>(first + part)));
  Value lane = constantI32(first);
  if (part != 1)
    lane = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(numbers));
  Value isDiagonal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, distance, lane);
  auto constant = [&](double value) {
    return splat(arith::ConstantOp::create(builder, loc, builder.getFloatAttr(op.getType(), value)),
                 part);
  };
  return arith::SelectOp::create(builder, loc, isDiagonal, constant(1), constant(0));
}

BlockedStorage::Decoding SweepKernel::decodingOf(const StreamAccess &stream, unsigned) {
  return decodings.lookup(stream.stream);
}

SmallVector<Value> SweepKernel::computeAt(const ElementRange &range, ValueRange carried) {
  laneSums.clear();
  for (const ReductionAccess &access : reductions) {
    laneSums.push_back(access.hasLanes() ? carried.front() : Value());
    carried = carried.drop_front(access.hasLanes());
  }
  codedValues.clear();
  computeElements(range);
  return llvm::to_vector(llvm::make_filter_range(laneSums, [](Value sums) { return !!sums; }));
}

void SweepKernel::addToLanes(size_t index, Value values, const ElementRange &range) {
  ReductionKind kind = reductions[index].reduction.getKind();
  if (range.mask)
    values = arith::SelectOp::create(builder, loc, range.mask, values,
                                     reductionIdentity(builder, loc, kind, values.getType()));
  laneSums[index] =
      combineReduced(builder, reductionLocation(index), kind, laneSums[index], values);
}

Value SweepKernel::narrow(const StreamAccess &stream, Value values) {
  return stream.storage->narrowOnGPU(builder, writeLocation(stream), values);
}

void SweepKernel::keepForBlock(const StreamAccess &, Value values, const ElementRange &) {
  codedValues.push_back(convertFloat(builder, loc, values, builder.getF32Type()));
}

} // namespace updraft
