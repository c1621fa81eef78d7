//===- PassBlocks.cpp - Blocks of elements that share a scale ---------------------------------===//
// A block is gone over twice. First its elements are computed, once; next values that are stored in
// blocks are kept in memory that the first-level cache holds, with their extremes in registers.
// These give the scale, with which the second sweep makes codes of the values, while the elements
// of the next block are computed.

#include "KernelMemory.h"
#include "PassBuilder.h"
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

// The square root of `value`, if an operation in `block` is that.
static Value rootOf(Value value, Block *block) {
  for (Operation *user : value.getUsers())
    if (isa<math::SqrtOp>(user) && user->getBlock() == block)
      return user->getResult(0);
  return {};
}

// As elementPointer, of an address that may be outside of what it is in, or from such a one.
static Value shiftedPointer(OpBuilder &builder, Location loc, Type element, Value base,
                            Value index) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), element, base,
                             ArrayRef(LLVM::GEPArg(index)));
}

// Whether the rule has the square roots of the next values of a companded stream, which it then
// need not compute again for the codes.
bool PassBuilder::hasRoots(const StreamAccess &stream) {
  auto written = llvm::find(pass.getWrites(), stream.stream);
  if (!stream.blocks->isCompanded() || !interface.compute.isF32() ||
      written == pass.getWrites().end())
    return false;
  Block &body = pass.getBody().front();
  return !!rootOf(body.getTerminator()->getOperand(written.getIndex()), &body);
}

// For the streams that have blocks; at the start of the function.
void PassBuilder::makeBlockMemory() {
  for (const StreamAccess &stream : reads)
    if (stream.blocks)
      blocks.try_emplace(stream.stream);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto allocate = [&](Type type, int64_t count) -> Value {
    return LLVM::AllocaOp::create(builder, loc, pointer, type, constantI64(count),
                                  /*alignment=*/64);
  };
  for (const StreamAccess &stream : writes) {
    if (!stream.blocks)
      continue;
    BlockAccess &block = blocks[stream.stream];
    Type i32 = builder.getI32Type(), vector = laneType(i32, shape.lanes);
    block.values = allocate(builder.getF32Type(), 2 * quantBlockElements);
    if (hasRoots(stream))
      block.roots = allocate(builder.getF32Type(), 2 * quantBlockElements);
    block.positive = allocate(vector, 1);
    block.negative = allocate(vector, 1);
    block.scalarPositive = allocate(i32, 1);
    block.scalarNegative = allocate(i32, 1);
  }
}

// How many blocks `count` elements have.
Value PassBuilder::quantBlocksIn(Value count) {
  Value rounded = arith::AddIOp::create(builder, loc, count, constantI64(quantBlockElements - 1));
  return arith::ShRUIOp::create(builder, loc, rounded,
                                constantI64(llvm::Log2_64(quantBlockElements)));
}

// What a loop over blocks carries of an encoding.
static void append(SmallVectorImpl<Value> &values, const BlockedStorage::Encoding &encoding) {
  values.append({encoding.isSigned, encoding.codePerValue, encoding.offset, encoding.codeBits});
}

SmallVector<BlockedStorage::Encoding> PassBuilder::encodingsIn(ValueRange values) {
  SmallVector<BlockedStorage::Encoding> encodings;
  for (; !values.empty(); values = values.drop_front(4))
    encodings.push_back({{}, values[0], values[1], values[2], values[3]});
  return encodings;
}

// `lower` starts a block.
void PassBuilder::quantBlockLoop(Value lower, Value upper, const LoopOrigin &origin) {
  OpBuilder::InsertionGuard guard(builder);
  auto constant = [&](TypedAttr value) -> Value {
    return arith::ConstantOp::create(builder, loc, value);
  };
  Value size = constantI64(quantBlockElements);
  SmallVector<Value> none;
  for (size_t i = 0; i < codedWrites().size(); ++i)
    append(none, {{},
                  constant(builder.getBoolAttr(false)),
                  constant(builder.getF32FloatAttr(0)),
                  constant(builder.getF32FloatAttr(0)),
                  constant(builder.getI32IntegerAttr(0))});
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
    return elementLoop(start, end, origin);
  computeBlock({lower, start, end, full, upper}, encodingsIn(loop.getRegionIterArgs()), origin);
  findExtremes(start, end);
  SmallVector<Value> next;
  for (const StreamAccess *stream : codedWrites())
    append(next, finishBlock(*stream, block));
  scf::YieldOp::create(builder, loc, next);

  builder.setInsertionPointAfter(loop);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
  auto branch = scf::IfOp::create(builder, loc, some, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value last = arith::SubIOp::create(builder, loc, upper, constantI64(1));
  last = arith::AndIOp::create(builder, named(loc, "last_quant_block"), last,
                               constantI64(-quantBlockElements));
  storeCodes(encodingsIn(loop.getResults()), last, upper, origin);
}

SmallVector<const StreamAccess *> PassBuilder::codedWrites() const {
  SmallVector<const StreamAccess *> coded;
  for (const StreamAccess &stream : writes)
    if (stream.blocks)
      coded.push_back(&stream);
  return coded;
}

// The elements of a block, and the codes of the block before it, of which `before` is known. The
// codes take instructions while the elements wait for divisions and memory: where both are whole,
// they are in one loop.
void PassBuilder::computeBlock(const BlockBounds &bounds, ArrayRef<BlockedStorage::Encoding> before,
                               const LoopOrigin &origin) {
  OpBuilder::InsertionGuard guard(builder);
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto conjoin = [&](Value a, Value b) -> Value {
    return arith::AndIOp::create(builder, loc, a, b);
  };
  Value hasBefore = compare(arith::CmpIPredicate::slt, bounds.first, bounds.start);
  Value together =
      conjoin(hasBefore, compare(arith::CmpIPredicate::sle, bounds.full, bounds.upper));
  Value isFalse = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  // The roots of negative values are none.
  for (auto [stream, encoding] : llvm::zip_equal(codedWrites(), before))
    if (blocks[stream->stream].roots)
      together = conjoin(together, compare(arith::CmpIPredicate::eq, encoding.isSigned, isFalse));

  auto branch = scf::IfOp::create(builder, loc, together, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value lastStart =
      arith::SubIOp::create(builder, loc, bounds.start, constantI64(quantBlockElements));
  SmallVector<CodedBlock> coded;
  for (auto [stream, encoding] : llvm::zip_equal(codedWrites(), before))
    coded.push_back(
        codedBlock(*stream, encoding, !!blocks[stream->stream].roots, lastStart, bounds.start));
  const unsigned lanes = elementsPerVector;
  Value whole = arith::AndIOp::create(builder, loc, constantI64(quantBlockElements),
                                      constantI64(-int64_t(lanes)));
  Value end = arith::AddIOp::create(builder, loc, bounds.start, whole);
  elementsIn(bounds.start, end, constantI64(lanes), lanes, [&](Value number, unsigned, Value mask) {
    // All is loaded before any is stored.
    SmallVector<Value> kept;
    for (const CodedBlock &block : coded)
      kept.push_back(loadKept(block, number, lanes));
    computeAt(number, origin, lanes, mask);
    for (auto [block, values] : llvm::zip_equal(coded, kept))
      storeCodesAt(block, values, number, mask, origin);
  });
  builder.setInsertionPointToStart(branch.elseBlock());
  auto rest = scf::IfOp::create(builder, loc, hasBefore, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(rest.thenBlock());
  Value last = arith::SubIOp::create(builder, loc, bounds.start, constantI64(quantBlockElements));
  storeCodes(before, last, bounds.start, origin);
  builder.setInsertionPointAfter(rest);
  elementLoop(bounds.start, bounds.end, origin);
}

// `start` is the number of its first element.
void PassBuilder::startBlock(Value block, Value start) {
  for (const StreamAccess &stream : reads) {
    if (!stream.blocks)
      continue;
    Location name = stream.stream.getLoc();
    Type f32 = builder.getF32Type();
    Value scale =
        loadElements(builder, name, f32, elementPointer(builder, loc, f32, stream.scales, block));
    BlockAccess &access = blocks[stream.stream];
    access.scalar = stream.blocks->decodingOf(builder, loc, scale);
    access.vector = {splat(access.scalar.bias, shape.lanes),
                     splat(access.scalar.unit, shape.lanes)};
  }
  for (const StreamAccess &stream : writes) {
    if (!stream.blocks)
      continue;
    BlockAccess &access = blocks[stream.stream];
    access.valuesHere = keptFrom(access.values, start, start);
    if (access.roots)
      access.rootsHere = keptFrom(access.roots, start, start);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
    for (Value memory : {access.positive, access.negative})
      storeElements(builder, loc, splat(zero, shape.lanes), memory);
    for (Value memory : {access.scalarPositive, access.scalarNegative})
      storeElements(builder, loc, zero, memory);
  }
}

// The next values of the elements from `number` on.
void PassBuilder::keepBlockValues(const StreamAccess &stream, Value values, Value number) {
  const BlockAccess &block = blocks.find(stream.stream)->second;
  Type f32 = builder.getF32Type();
  values = convertFloat(builder, loc, values, f32);
  storeElements(builder, loc, values, shiftedPointer(builder, loc, f32, block.valuesHere, number));
  if (!block.roots)
    return;
  Value root = rootOf(values, builder.getInsertionBlock());
  if (!root)
    root = math::SqrtOp::create(builder, loc, values);
  storeElements(builder, loc, root, shiftedPointer(builder, loc, f32, block.rootsHere, number));
}

// Of the values of the block at hand. In a loop of its own: one that computes them would wait for
// what it carries.
void PassBuilder::findExtremes(Value lower, Value upper) {
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  forElements(lower, upper, shape.lanes, [&](Value number, unsigned lanes, Value mask) {
    for (const StreamAccess *stream : codedWrites()) {
      const BlockAccess &block = blocks.find(stream->stream)->second;
      Type type = laneType(i32, lanes);
      Value bits = loadElements(builder, loc, type,
                                shiftedPointer(builder, loc, f32, block.valuesHere, number));
      if (mask) {
        Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
        bits = arith::SelectOp::create(builder, loc, mask, bits, zero);
      }
      auto combine = [&](Value memory, auto op) {
        Value largest = loadElements(builder, loc, type, memory);
        largest = decltype(op)::create(builder, loc, largest, bits);
        storeElements(builder, loc, largest, memory);
      };
      combine(lanes == 1 ? block.scalarPositive : block.positive, arith::MaxSIOp());
      combine(lanes == 1 ? block.scalarNegative : block.negative, arith::MaxUIOp());
    }
  });
}

// Stores the scale of a block whose values have been kept.
BlockedStorage::Encoding PassBuilder::finishBlock(const StreamAccess &stream, Value block) {
  const BlockAccess &access = blocks.find(stream.stream)->second;
  Type i32 = builder.getI32Type();
  auto largest = [&](Value vectorMemory, Value scalarMemory, auto op, vector::CombiningKind kind) {
    Value value = loadElements(builder, loc, i32, scalarMemory);
    if (shape.lanes == 1)
      return value;
    Value vector = loadElements(builder, loc, laneType(i32, shape.lanes), vectorMemory);
    Value reduced = vector::ReductionOp::create(builder, loc, kind, vector);
    return decltype(op)::create(builder, loc, reduced, value).getResult();
  };
  BlockedStorage::Encoding encoding =
      stream.blocks->encodingOf(builder, loc,
                                largest(access.positive, access.scalarPositive, arith::MaxSIOp(),
                                        vector::CombiningKind::MAXSI),
                                largest(access.negative, access.scalarNegative, arith::MaxUIOp(),
                                        vector::CombiningKind::MAXUI));
  storeElements(builder, loc, encoding.scale,
                elementPointer(builder, loc, builder.getF32Type(), stream.scales, block));
  return encoding;
}

// The codes of a block, [lower, upper), of every stream.
void PassBuilder::storeCodes(ArrayRef<BlockedStorage::Encoding> encodings, Value lower, Value upper,
                             const LoopOrigin &origin) {
  for (auto [stream, encoding] : llvm::zip_equal(codedWrites(), encodings)) {
    auto store = [&](bool ofRoots) {
      CodedBlock block = codedBlock(*stream, encoding, ofRoots, lower, lower);
      forElements(lower, upper, shape.lanes, [&](Value number, unsigned lanes, Value mask) {
        storeCodesAt(block, loadKept(block, number, lanes), number, mask, origin);
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

// The block from element `start` on, in a loop that has the number `first` for that element.
PassBuilder::CodedBlock PassBuilder::codedBlock(const StreamAccess &stream,
                                                const BlockedStorage::Encoding &encoding,
                                                bool ofRoots, Value start, Value first) {
  const BlockAccess &access = blocks.find(stream.stream)->second;
  CodedBlock block = {&stream, ofRoots, encoding, encoding};
  for (Value *part : {&block.vector.codePerValue, &block.vector.offset, &block.vector.codeBits})
    *part = splat(*part, shape.lanes);
  block.kept = keptFrom(ofRoots ? access.roots : access.values, start, first);
  Value offset = arith::SubIOp::create(builder, loc, start, first);
  block.codes = shiftedPointer(builder, loc, builder.getI8Type(), stream.base, offset);
  return block;
}

// Where the values from element `start` on are kept, less `first` elements. There are two blocks at
// a time.
Value PassBuilder::keptFrom(Value memory, Value start, Value first) {
  Value place = arith::AndIOp::create(builder, loc, start, constantI64(2 * quantBlockElements - 1));
  Value offset = arith::SubIOp::create(builder, loc, place, first);
  return shiftedPointer(builder, loc, builder.getF32Type(), memory, offset);
}

Value PassBuilder::loadKept(const CodedBlock &block, Value number, unsigned lanes) {
  Type f32 = builder.getF32Type();
  return loadElements(builder, loc, laneType(f32, lanes),
                      shiftedPointer(builder, loc, f32, block.kept, number));
}

// The codes of what has been kept of the elements from `number` on: of values, or of their roots.
void PassBuilder::storeCodesAt(const CodedBlock &block, Value kept, Value number, Value mask,
                               const LoopOrigin &origin) {
  const BlockedStorage &storage = *block.stream->blocks;
  const auto &encoding = isa<VectorType>(kept.getType()) ? block.vector : block.scalar;
  Value codes = block.ofRoots ? storage.narrowRoots(builder, loc, kept, encoding)
                              : storage.narrow(builder, loc, kept, encoding);
  storeElements(
      builder, loc, codes,
      shiftedPointer(builder, loc, builder.getI8Type(), block.codes, add(origin.element, number)),
      mask);
}

} // namespace updraft
