//===- SweepBlocks.cpp - Blocks of elements that share a scale --------------------------------===//
// Visits each block twice. The first sweep computes the elements once. It keeps next values that
// are stored in blocks in memory that fits the first-level cache, and their extremes in registers.
// The extremes determine the scale. The second sweep encodes the values, while the elements of the
// next block are computed.

#include "SweepBuilder.h"
#include "Updraft/IR/StorageSize.h"
#include "ValueNames.h"
#include "VectorBody.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft-c/kernel.h"
#include "updraft-c/types.h"

using namespace mlir;

namespace updraft {

static_assert(quantBlockElements == UPD_QUANT_BLOCK, "the runtime places the scales");
static_assert(int64_t(UPD_LEAF_ELEMENTS) % UPD_QUANT_BLOCK == 0, "a range begins with a block");

// The size of a coded value.
constexpr size_t bytesPerLane = 4;

static Value concatenate(OpBuilder &builder, Location loc, Value low, Value high) {
  const int64_t all = cast<VectorType>(low.getType()).getNumElements() +
                      cast<VectorType>(high.getType()).getNumElements();
  return vector::ShuffleOp::create(builder, loc, low, high,
                                   llvm::to_vector(llvm::seq<int64_t>(0, all)));
}

// Returns the square root of `value` if `block` computes it.
static Value rootOf(Value value, Block *block) {
  for (Operation *user : value.getUsers())
    if (isa<math::SqrtOp>(user) && user->getBlock() == block)
      return user->getResult(0);
  return {};
}

// Whether the rule computes the square roots of a companded stream's next values, so that the codes
// can reuse them.
bool SweepBuilder::hasRoots(const StreamAccess &stream) {
  auto written = llvm::find(sweep.getWrites(), stream.stream);
  if (!stream.blocks->isCompanded() || !interface.compute.isF32() ||
      written == sweep.getWrites().end())
    return false;
  Block &body = sweep.getBody().front();
  return !!rootOf(body.getTerminator()->getOperand(written.getIndex()), &body);
}

// Allocates memory for streams with blocks, at the start of the function.
void SweepBuilder::makeBlockMemory() {
  for (const StreamAccess &stream : reads)
    if (stream.blocks)
      blocks.try_emplace(stream.stream);
  auto allocate = [&](Type element, int64_t count) -> Value {
    return ScratchOp::create(builder, loc, ElementsType::get(element), count);
  };
  for (const StreamAccess &stream : writes) {
    if (!stream.blocks)
      continue;
    BlockAccess &block = blocks[stream.stream];
    Type i32 = builder.getI32Type();
    block.values = allocate(builder.getF32Type(), 2 * quantBlockElements);
    if (hasRoots(stream))
      block.roots = allocate(builder.getF32Type(), 2 * quantBlockElements);
    block.extremes = {allocate(i32, vectorLanes), allocate(i32, vectorLanes),
                      allocate(i32, vectorLanes)};
    block.scalarExtremes = {allocate(i32, 1), allocate(i32, 1), allocate(i32, 1)};
  }
}

// Appends the part of an encoding that a loop over blocks carries.
static void append(SmallVectorImpl<Value> &values, const BlockedStorage::Encoding &encoding) {
  values.append({encoding.isSigned, encoding.isOrdinary, encoding.codePerValue, encoding.offset,
                 encoding.codeBits, encoding.least});
}

SmallVector<BlockedStorage::Encoding> SweepBuilder::encodingsIn(ValueRange values) {
  SmallVector<BlockedStorage::Encoding> encodings;
  for (; !values.empty(); values = values.drop_front(6))
    encodings.push_back({{}, values[0], values[1], values[2], values[3], values[4], values[5]});
  return encodings;
}

// `lower` must be the start of a block.
void SweepBuilder::quantBlockLoop(Value lower, Value upper) {
  OpBuilder::InsertionGuard guard(builder);
  auto constant = [&](TypedAttr value) -> Value {
    return arith::ConstantOp::create(builder, loc, value);
  };
  Value size = constantI64(quantBlockElements);
  SmallVector<Value> none;
  for (size_t i = 0; i < codedWrites().size(); ++i)
    append(none, {{},
                  constant(builder.getBoolAttr(false)),
                  constant(builder.getBoolAttr(false)),
                  constant(builder.getF32FloatAttr(0)),
                  constant(builder.getF32FloatAttr(0)),
                  constant(builder.getI32IntegerAttr(0)),
                  constant(builder.getI8IntegerAttr(0))});
  auto loop = scf::ForOp::create(builder, loc, lower, upper, size, none);
  builder.setInsertionPointToStart(loop.getBody());
  Value start = loop.getInductionVar();
  start.setLoc(named(loc, "quant_block"));
  Value full = arith::AddIOp::create(builder, loc, start, size);
  Value end = arith::MinSIOp::create(builder, named(loc, "quant_block_end"), full, upper);
  Value number =
      arith::ShRUIOp::create(builder, loc, start, constantI64(llvm::Log2_64(quantBlockElements)));
  Value block = add(origin.scale, number);
  startBlock(block, start);
  if (none.empty())
    return elementLoop(start, end);
  scf::YieldOp::create(
      builder, loc,
      computeBlock({lower, start, end, full, upper, block}, encodingsIn(loop.getRegionIterArgs())));

  builder.setInsertionPointAfter(loop);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
  auto branch = scf::IfOp::create(builder, loc, some, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value last = arith::SubIOp::create(builder, loc, upper, constantI64(1));
  last = arith::AndIOp::create(builder, named(loc, "last_quant_block"), last,
                               constantI64(-quantBlockElements));
  storeCodes(encodingsIn(loop.getResults()), last, upper);
}

// Computes the elements of a block and the codes of the previous block, whose encodings are
// `before`. Returns the encodings of this block.
SmallVector<Value> SweepBuilder::computeBlock(const BlockBounds &bounds,
                                              ArrayRef<BlockedStorage::Encoding> before) {
  auto finish = [&](ArrayRef<BlockedStorage::Encoding> encodings) {
    SmallVector<Value> known;
    for (auto [stream, encoding] : llvm::zip_equal(codedWrites(), encodings)) {
      append(known, encoding);
      WriteOp::create(builder, writeLocation(*stream), encoding.scale, stream->scales,
                      bounds.number);
    }
    return known;
  };
  if (vectorLanes == 1)
    return finish(computeAnyBlock(bounds, before));
  OpBuilder::InsertionGuard guard(builder);
  Value whole = canComputeWhole(bounds, before);
  SmallVector<Value> known;
  for (const BlockedStorage::Encoding &encoding : before)
    append(known, encoding);
  auto branch = scf::IfOp::create(builder, loc, ValueRange(known).getTypes(), whole,
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, finish(computeWholeBlock(bounds, before)));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, finish(computeAnyBlock(bounds, before)));
  return branch.getResults();
}

// Computes the codes and the elements one after the other.
SmallVector<BlockedStorage::Encoding>
SweepBuilder::computeAnyBlock(const BlockBounds &bounds,
                              ArrayRef<BlockedStorage::Encoding> before) {
  OpBuilder::InsertionGuard guard(builder);
  Value hasBefore =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, bounds.first, bounds.start);
  auto branch = scf::IfOp::create(builder, loc, hasBefore, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value last = arith::SubIOp::create(builder, loc, bounds.start, constantI64(quantBlockElements));
  storeCodes(before, last, bounds.start);
  builder.setInsertionPointAfter(branch);
  elementLoop(bounds.start, bounds.end);
  SmallVector<BlockedStorage::Encoding> encodings;
  for (const StreamAccess *stream : codedWrites())
    encodings.push_back(
        stream->blocks->encodingOf(builder, loc, findExtremes(*stream, bounds.start, bounds.end)));
  return encodings;
}

// Whether there is a previous block, both blocks are whole, and both are of the common kind. If the
// rule takes roots, the values must not be negative.
Value SweepBuilder::canComputeWhole(const BlockBounds &bounds,
                                    ArrayRef<BlockedStorage::Encoding> before) {
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto conjoin = [&](Value a, Value b) -> Value {
    return arith::AndIOp::create(builder, loc, a, b);
  };
  Value isFalse = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value whole = conjoin(compare(arith::CmpIPredicate::slt, bounds.first, bounds.start),
                        compare(arith::CmpIPredicate::sle, bounds.full, bounds.upper));
  for (auto [stream, encoding] : llvm::zip_equal(codedWrites(), before)) {
    whole = conjoin(whole, encoding.isOrdinary);
    const BlockAccess &access = blocks[stream->stream];
    if (!access.roots)
      continue;
    whole = conjoin(whole, compare(arith::CmpIPredicate::eq, encoding.isSigned, isFalse));
    if (Value bias = access.scalar.bias)
      whole = conjoin(whole, compare(arith::CmpIPredicate::eq, bias, zero));
  }
  return whole;
}

// Encodes in the same loop, because encoding uses instruction slots while the elements wait for
// divisions and memory. The loop also finds the extremes.
SmallVector<BlockedStorage::Encoding>
SweepBuilder::computeWholeBlock(const BlockBounds &bounds,
                                ArrayRef<BlockedStorage::Encoding> before) {
  OpBuilder::InsertionGuard guard(builder);
  const unsigned lanes = vectorLanes;
  Value lastStart =
      arith::SubIOp::create(builder, loc, bounds.start, constantI64(quantBlockElements));
  BlockedStorage::Extremes none = noExtremes(lanes);
  SmallVector<CodedBlock> coded;
  SmallVector<BlockAccess> general;
  SmallVector<Value> extremes;
  for (auto [stream, encoding] : llvm::zip_equal(codedWrites(), before)) {
    BlockAccess &access = blocks[stream->stream];
    general.push_back(access);
    if (access.roots)
      access.vector.bias = {};
    coded.push_back(codedBlock(*stream, encoding, !!access.roots, lastStart, bounds.start));
    extremes.append({none.negative, none.smallest});
    if (!access.roots)
      extremes.push_back(none.positive);
  }
  // In this form, later passes see that all iterations are whole.
  Value whole = arith::AndIOp::create(builder, loc, constantI64(quantBlockElements),
                                      constantI64(-int64_t(lanes)));
  Value end = arith::AddIOp::create(builder, loc, bounds.start, whole);
  auto loop =
      scf::ForOp::create(builder, loc, bounds.start, end, constantI64(int64_t(lanes)), extremes);
  auto carry = [&](ValueRange values) {
    for (const StreamAccess *stream : codedWrites()) {
      BlockAccess &access = blocks[stream->stream];
      access.carried = {access.roots ? Value() : values[2], values[0], values[1]};
      values = values.drop_front(access.roots ? 2 : 3);
    }
  };
  carry(loop.getRegionIterArgs());
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  number.setLoc(named(loc, "i"));
  // Loads everything before any store.
  SmallVector<Value> codes;
  for (const CodedBlock &block : coded)
    codes.push_back(block.stream->blocks->narrowOrdinary(
        builder, loc, readKept(block, number, lanes), block.ofRoots, block.vector));
  computeElements({number, lanes});
  storeOrdinaryCodesAt(coded, codes, number);
  SmallVector<Value> next;
  for (const StreamAccess *stream : codedWrites()) {
    const BlockedStorage::Extremes &carried = blocks[stream->stream].carried;
    next.append({carried.negative, carried.smallest});
    if (carried.positive)
      next.push_back(carried.positive);
  }
  scf::YieldOp::create(builder, loc, next);

  builder.setInsertionPointAfter(loop);
  carry(loop.getResults());
  SmallVector<BlockedStorage::Encoding> encodings;
  for (const StreamAccess *stream : codedWrites()) {
    BlockAccess &access = blocks[stream->stream];
    BlockedStorage::Extremes found = access.carried;
    access.carried = {};
    found = access.roots ? extremesWithRoots(*stream, found, bounds) : reduced(found);
    encodings.push_back(stream->blocks->encodingOf(builder, loc, found));
  }
  for (auto [stream, access] : llvm::zip_equal(codedWrites(), general))
    blocks[stream->stream].vector = access.vector;
  return encodings;
}

// `start` is the index of the block's first element.
void SweepBuilder::startBlock(Value block, Value start) {
  for (const StreamAccess &stream : reads) {
    if (!stream.blocks)
      continue;
    BlockAccess &access = blocks[stream.stream];
    access.scalar = loadDecoding(stream, block);
    access.vector = splat(access.scalar);
  }
  for (const StreamAccess &stream : writes) {
    if (!stream.blocks)
      continue;
    BlockAccess &access = blocks[stream.stream];
    access.valuesHere = keptFrom(access.values, start, start);
    if (access.roots)
      access.rootsHere = keptFrom(access.roots, start, start);
  }
}

void SweepBuilder::keepForBlock(const StreamAccess &stream, Value values,
                                const ElementRange &range) {
  BlockAccess &block = blocks.find(stream.stream)->second;
  values = convertFloat(builder, loc, values, builder.getF32Type());
  WriteOp::create(builder, loc, values, block.valuesHere, range.number);
  if (block.carried.negative) {
    Value bits = arith::BitcastOp::create(builder, loc, block.carried.negative.getType(), values);
    block.carried = withBits(block.carried, bits, bits);
  }
  if (!block.roots)
    return;
  Value root = rootOf(values, builder.getInsertionBlock());
  if (!root)
    root = math::SqrtOp::create(builder, loc, values);
  WriteOp::create(builder, loc, root, block.rootsHere, range.number);
}

// Stores the codes of a block, [lower, upper), for every stream.
void SweepBuilder::storeCodes(ArrayRef<BlockedStorage::Encoding> encodings, Value lower,
                              Value upper) {
  for (auto [stream, encoding] : llvm::zip_equal(codedWrites(), encodings)) {
    auto store = [&](bool ofRoots) {
      CodedBlock block = codedBlock(*stream, encoding, ofRoots, lower, lower);
      forElements(lower, upper, vectorLanes, [&](Value number, unsigned lanes, Value mask) {
        storeCodesAt(block, readKept(block, number, lanes), number, mask);
      });
    };
    if (!blocks[stream->stream].roots) {
      store(/*ofRoots=*/false);
      continue;
    }
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, loc, encoding.isSigned, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.thenBlock());
    store(/*ofRoots=*/false);
    builder.setInsertionPointToStart(branch.elseBlock());
    store(/*ofRoots=*/true);
  }
}

// Returns the block from element `start` on, for a loop in which that element has the index
// `first`.
SweepBuilder::CodedBlock SweepBuilder::codedBlock(const StreamAccess &stream,
                                                  const BlockedStorage::Encoding &encoding,
                                                  bool ofRoots, Value start, Value first) {
  const BlockAccess &access = blocks.find(stream.stream)->second;
  CodedBlock block = {&stream, ofRoots, encoding, splat(encoding)};
  block.kept = keptFrom(ofRoots ? access.roots : access.values, start, first);
  Value offset = arith::SubIOp::create(builder, loc, start, first);
  block.codes = ShiftOp::create(builder, loc, stream.elements, offset, /*outside=*/true);
  return block;
}

// Returns kept values such that element `start` has the number `first`. Memory holds two blocks at
// a time.
Value SweepBuilder::keptFrom(Value memory, Value start, Value first) {
  Value place = arith::AndIOp::create(builder, loc, start, constantI64(2 * quantBlockElements - 1));
  Value offset = arith::SubIOp::create(builder, loc, place, first);
  return ShiftOp::create(builder, loc, memory, offset, /*outside=*/true);
}

Value SweepBuilder::readKept(const CodedBlock &block, Value number, unsigned lanes) {
  return ReadOp::create(builder, loc, laneType(builder.getF32Type(), lanes), block.kept, number);
}

// Encodes and stores the kept values, or kept roots, of the elements from `number` on.
void SweepBuilder::storeCodesAt(const CodedBlock &block, Value kept, Value number, Value mask) {
  const BlockedStorage &storage = *block.stream->blocks;
  const auto &encoding = isa<VectorType>(kept.getType()) ? block.vector : block.scalar;
  const Location at = writeLocation(*block.stream);
  Value codes = block.ofRoots ? storage.narrowRoots(builder, at, kept, encoding)
                              : storage.narrow(builder, at, kept, encoding);
  WriteOp::create(builder, at, codes, block.codes, placeOf(*block.stream, number).indices, mask);
}

// Stores codes from the lowest bytes of `numbers`, one vector per block, for the elements from
// `number` on. Combines as many vectors as fit into one vector of bytes.
void SweepBuilder::storeOrdinaryCodesAt(ArrayRef<CodedBlock> coded, ArrayRef<Value> numbers,
                                        Value number) {
  const int64_t lanes = vectorLanes;
  while (!coded.empty()) {
    const size_t count = std::min<size_t>(coded.size(), bytesPerLane);
    Value least = coded.front().vector.least;
    for (const CodedBlock &block : coded.slice(1, count - 1))
      least = concatenate(builder, loc, least, block.vector.least);
    Value bytes = packedBytes(builder, loc, numbers.take_front(count));
    bytes = arith::MaxUIOp::create(builder, loc, bytes, least);
    for (auto [i, block] : llvm::enumerate(coded.take_front(count))) {
      auto places = llvm::to_vector(llvm::seq<int64_t>(i * lanes, (i + 1) * lanes));
      Value codes = vector::ShuffleOp::create(builder, loc, bytes, bytes, places);
      WriteOp::create(builder, writeLocation(*block.stream), codes, block.codes,
                      placeOf(*block.stream, number).indices);
    }
    coded = coded.drop_front(count);
    numbers = numbers.drop_front(count);
  }
}

} // namespace updraft
