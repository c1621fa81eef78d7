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

// Begins a sequence: sets the base addresses of its elements.
void SweepKernel::enter(const LoopOrigin &origin) {
  firstElement = origin.element;
  firstScale = origin.scale;
  bases.clear();
  for (StreamAccess *stream : allStreams()) {
    if (stream->over() == sweep.getOver())
      bases[stream->stream] = addressOf(*stream, origin.element);
    else if (stream->over() == Extent::column)
      bases[stream->stream] = addressOf(*stream, origin.column);
  }
  for (const ReductionAccess &reduction : reductions)
    if (!reduction.hasLanes())
      bases[reduction.stream->stream] = addressOf(*reduction.stream, origin.sum);
}

Value SweepKernel::here(const StreamAccess &stream, Value number) {
  StreamAccess access = stream;
  access.base = bases.lookup(stream.stream);
  return addressOf(access, number);
}

// Updates a sequence without reductions: whole vectors if streams are aligned, then single
// elements.
void SweepKernel::update(Value length, Value aligned) {
  Value whole = arith::AndIOp::create(builder, loc, length, constantI32(-int64_t(vectorLanes)));
  Value zero = constantI32(0);
  Value middle = arith::SelectOp::create(builder, named(loc, "middle"), aligned, whole, zero);
  vectorLoop(zero, middle, vectorLanes, {}, [&](Value number, ValueRange) {
    return computeAt(number, vectorLanes, {}, {}, /*aligned=*/true);
  });
  vectorLoop(middle, length, 1, {}, [&](Value number, ValueRange) {
    return computeAt(number, 1, {}, {}, /*aligned=*/false);
  });
}

SmallVector<Value> SweepKernel::compute(Value length, Value aligned, ValueRange carried) {
  if (firstScale)
    return computeBlocks(length, aligned, carried);
  return walk(length, aligned, carried,
              [&](Value number, Value mask, ValueRange before, bool isAligned) {
                return computeAt(number, vectorLanes, mask, before, isAligned);
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
SmallVector<Value> SweepKernel::bodyOf(ValueRange arguments, Value number, unsigned lanes) {
  const unsigned part = std::min(lanes, computedTogether);
  SmallVector<Value> results;
  for (unsigned first = 0; first < lanes; first += part) {
    auto partOf = [&](Value value) -> Value {
      if (part == lanes)
        return value;
      return vector::ShuffleOp::create(
          builder, loc, value, value,
          llvm::to_vector(llvm::seq<int64_t>(first, first + int64_t(part))));
    };
    auto random = [&](RandomOp op) {
      Value inTensor = add(firstElement, arith::ExtUIOp::create(builder, loc, i64, number));
      return randomBits(op, first == 0 ? inTensor : add(inTensor, constantI64(first)), part);
    };
    SmallVector<Value> some =
        cloneBody(builder, sweep, llvm::map_to_vector(arguments, partOf), part, random);
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

Value SweepKernel::loadOperand(const StreamAccess &stream, Type type, Value number, unsigned lanes,
                               Value mask, bool aligned) {
  if (stream.over() != sweep.getOver() && stream.over() != Extent::column) {
    const Uniform &value = uniforms.find(stream.stream)->second;
    return lanes == 1 ? value.scalar : value.vector;
  }
  Location name = stream.stream.getLoc();
  if (stream.blocks) {
    Type codes = laneType(builder.getI8Type(), lanes);
    Value stored = loadElements(builder, name, codes, here(stream, number), mask,
                                aligned ? alignmentOf(codes) : 0);
    return stream.blocks->widen(builder, name, stored, decodings.lookup(stream.stream), type);
  }
  Type memory = laneType(stream.storage->memoryType(builder.getContext()), lanes);
  Value stored = loadElements(builder, name, memory, here(stream, number), mask,
                              aligned ? alignmentOf(memory) : 0);
  return stream.storage->widen(builder, name, stored, type);
}

SmallVector<Value> SweepKernel::computeAt(Value number, unsigned lanes, Value mask,
                                          ValueRange carried, bool aligned) {
  SmallVector<Value> arguments = uniformArguments(lanes);
  auto blockArguments = sweep.getBody().getArguments().drop_front(arguments.size());
  for (auto [stream, argument] : llvm::zip_equal(reads, blockArguments))
    arguments.push_back(loadOperand(stream, argument.getType(), number, lanes, mask, aligned));
  SmallVector<Value> results = bodyOf(arguments, number, lanes);
  // The operands of `updraft.store` are in the order: writes, reductions, temporaries.
  ArrayRef<Value> values(results);
  const size_t written = sweep.getWrites().size();
  SmallVector<Value> after;
  for (auto [access, value] :
       llvm::zip_equal(reductions, values.slice(written, reductions.size()))) {
    ReductionKind kind = access.reduction.getKind();
    if (!access.hasLanes()) {
      accumulate(builder, loc, kind, value, here(*access.stream, number), mask);
      continue;
    }
    Value added = value;
    if (mask)
      added = arith::SelectOp::create(builder, loc, mask, value,
                                      reductionIdentity(builder, loc, kind, value.getType()));
    after.push_back(combineReduced(builder, loc, kind, carried[after.size()], added));
  }
  SmallVector<Value> stored(values.take_front(written));
  llvm::append_range(stored, values.drop_front(written + reductions.size()));
  codedValues.clear();
  for (auto [stream, value] : llvm::zip_equal(writes, stored)) {
    if (stream.blocks) {
      codedValues.push_back(convertFloat(builder, loc, value, builder.getF32Type()));
      continue;
    }
    Value narrow = stream.storage->narrowOnGPU(builder, loc, value);
    storeElements(builder, loc, narrow, here(stream, number), mask,
                  aligned ? alignmentOf(narrow.getType()) : 0);
  }
  return after;
}

} // namespace updraft
