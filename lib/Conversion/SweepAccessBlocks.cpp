//===- SweepAccessBlocks.cpp - Blocks that share a scale, on every target ---------------------===//

#include "SweepAccess.h"
#include "Updraft/IR/StorageSize.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace updraft {

SmallVector<const StreamAccess *> SweepAccess::codedWrites() const {
  SmallVector<const StreamAccess *> coded;
  for (const StreamAccess &stream : writes)
    if (stream.blocks)
      coded.push_back(&stream);
  return coded;
}

Value SweepAccess::quantBlocksIn(Value count) {
  Value rounded = arith::AddIOp::create(builder, loc, count, constantI64(quantBlockElements - 1));
  return arith::ShRUIOp::create(builder, loc, rounded,
                                constantI64(llvm::Log2_64(quantBlockElements)));
}

BlockedStorage::Decoding SweepAccess::loadDecoding(const StreamAccess &stream, Value block) {
  Value scale =
      ReadOp::create(builder, stream.stream.getLoc(), builder.getF32Type(), stream.scales, block);
  return stream.blocks->decodingOf(builder, loc, scale);
}

BlockedStorage::Decoding SweepAccess::splat(const BlockedStorage::Decoding &decoding) {
  return {splat(decoding.bias, vectorLanes), splat(decoding.unit, vectorLanes)};
}

BlockedStorage::Encoding SweepAccess::splat(BlockedStorage::Encoding encoding) {
  for (Value *part :
       {&encoding.codePerValue, &encoding.offset, &encoding.codeBits, &encoding.least})
    *part = splat(*part, vectorLanes);
  return encoding;
}

BlockedStorage::Extremes SweepAccess::noExtremes(unsigned lanes) {
  auto constant = [&](int32_t value) {
    return splat(arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)), lanes);
  };
  return {constant(0), constant(0), constant(-1)};
}

BlockedStorage::Extremes SweepAccess::withBits(BlockedStorage::Extremes extremes, Value low,
                                               Value high) {
  if (extremes.positive)
    extremes.positive = arith::MaxSIOp::create(builder, loc, extremes.positive, low);
  extremes.negative = arith::MaxUIOp::create(builder, loc, extremes.negative, low);
  extremes.smallest = arith::MinUIOp::create(builder, loc, extremes.smallest, high);
  return extremes;
}

BlockedStorage::Extremes SweepAccess::withBits(BlockedStorage::Extremes extremes, Value bits,
                                               Value mask, unsigned lanes) {
  if (!mask)
    return withBits(extremes, bits, bits);
  BlockedStorage::Extremes none = noExtremes(lanes);
  Value high = arith::SelectOp::create(builder, loc, mask, bits, none.smallest);
  Value low = arith::SelectOp::create(builder, loc, mask, bits, none.negative);
  return withBits(extremes, low, high);
}

BlockedStorage::Extremes SweepAccess::reduced(BlockedStorage::Extremes extremes) {
  auto reduce = [&](Value &value, vector::CombiningKind kind) {
    if (value)
      value = vector::ReductionOp::create(builder, loc, kind, value);
  };
  reduce(extremes.positive, vector::CombiningKind::MAXSI);
  reduce(extremes.negative, vector::CombiningKind::MAXUI);
  reduce(extremes.smallest, vector::CombiningKind::MINUI);
  return extremes;
}

} // namespace updraft
