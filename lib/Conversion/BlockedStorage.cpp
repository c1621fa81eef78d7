//===- BlockedStorage.cpp - Between blocks of 8-bit codes and values --------------------------===//

#include "BlockedStorage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "updraft/Conversion/StorageConversion.h"

using namespace mlir;

namespace updraft {
namespace {

// Added to a number from 0 to 2^23, this offset leaves the number, rounded to nearest even, in the
// lowest bits.
constexpr float roundingOffset = 0x1p23f;

// Codes of blocks with negative values are stored with this bias, so that no byte is negative.
constexpr int64_t signedBias = 128;

Value floatConstant(OpBuilder &builder, Location loc, float value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
}

Value bitsOf(OpBuilder &builder, Location loc, Value value) {
  return arith::BitcastOp::create(builder, loc, withShapeOf(value, builder.getI32Type()), value);
}

Value floatOf(OpBuilder &builder, Location loc, Value bits) {
  return arith::BitcastOp::create(builder, loc, builder.getF32Type(), bits);
}

} // namespace

BlockedStorage::Decoding BlockedStorage::decodingOf(OpBuilder &builder, Location loc,
                                                    Value scale) const {
  Type i32 = builder.getI32Type();
  auto constant = [&](int64_t value) { return integerLike(builder, loc, scale, i32, value); };
  Value isSigned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                         bitsOf(builder, loc, scale), constant(0));
  Value bias = arith::SelectOp::create(builder, loc, isSigned, constant(signedBias), constant(0));
  return {bias, math::AbsFOp::create(builder, loc, scale)};
}

Value BlockedStorage::widen(OpBuilder &builder, Location loc, Value codes, const Decoding &decoding,
                            Type compute) const {
  Type i32 = withShapeOf(codes, builder.getI32Type());
  Value code = arith::ExtUIOp::create(builder, loc, i32, codes);
  if (decoding.bias)
    code = arith::SubIOp::create(builder, loc, code, decoding.bias);
  Value units =
      arith::SIToFPOp::create(builder, loc, withShapeOf(codes, builder.getF32Type()), code);
  if (isCompanded()) {
    Value magnitude = decoding.bias ? math::AbsFOp::create(builder, loc, units) : units;
    units = arith::MulFOp::create(builder, loc, units, magnitude);
  }
  Value value = arith::MulFOp::create(builder, loc, units, decoding.unit);
  return convertFloat(builder, loc, value, getElementTypeOrSelf(compute));
}

BlockedStorage::Encoding BlockedStorage::encodingOf(OpBuilder &builder, Location loc,
                                                    const Extremes &extremes) const {
  Type i32 = builder.getI32Type();
  auto [positive, negative, smallest] = extremes;
  auto constant = [&](uint64_t bits) { return integerLike(builder, loc, negative, i32, bits); };
  auto number = [&](float value) { return floatConstant(builder, loc, value); };
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto choose = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  constexpr uint64_t signBit = uint64_t(1) << 31, infinityBits = 0x7f800000;

  // As integers, floats of one sign are ordered by magnitude, with NaNs last. -0 is not negative.
  Value isSigned = compare(arith::CmpIPredicate::ugt, negative, constant(signBit));
  Value below = arith::AndIOp::create(builder, loc, negative, constant(~signBit));
  Value largestBits = arith::MaxSIOp::create(builder, loc, positive, below);
  Value largest = floatOf(builder, loc, largestBits);
  const float unsignedUnits = isCompanded() ? 255 * 255 : 255;
  const float signedUnits = isCompanded() ? 127 * 127 : 127;
  Value units = choose(isSigned, number(signedUnits), number(unsignedUnits));
  Value perUnit = arith::DivFOp::create(builder, loc, units, largest);
  Value unit = arith::DivFOp::create(builder, loc, largest, units);

  // If all values are zero, or so small that the inverse is infinite, all codes are zero.
  Value isFinite = compare(arith::CmpIPredicate::slt, largestBits, constant(infinityBits));
  Value hasInverse =
      compare(arith::CmpIPredicate::slt, bitsOf(builder, loc, perUnit), constant(infinityBits));
  Value hasCodes = arith::AndIOp::create(builder, loc, isFinite, hasInverse);
  isSigned = arith::AndIOp::create(builder, loc, isSigned, hasCodes);
  Value magnitude = choose(hasInverse, bitsOf(builder, loc, unit), constant(0));
  magnitude = choose(isFinite, magnitude, constant(0x7fc00000));
  Value scale = arith::OrIOp::create(builder, loc, magnitude,
                                     choose(isSigned, constant(signBit), constant(0)));
  Value offset = choose(isSigned, number(roundingOffset + signedBias), number(roundingOffset));
  Value codePerValue = isCompanded() ? math::SqrtOp::create(builder, loc, perUnit) : perUnit;
  codePerValue = choose(hasCodes, codePerValue, number(0));
  // -0 is also a zero: its bits are the sign bit.
  Value hasZero =
      arith::OrIOp::create(builder, loc, compare(arith::CmpIPredicate::eq, smallest, constant(0)),
                           compare(arith::CmpIPredicate::eq, negative, constant(signBit)));
  Value isZero = compare(arith::CmpIPredicate::eq, largestBits, constant(0));
  Value isTrue = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  Value isOrdinary = choose(hasZero, isSigned, isTrue);
  isOrdinary = arith::AndIOp::create(builder, loc, isOrdinary, hasCodes);
  isOrdinary = arith::OrIOp::create(builder, loc, isOrdinary, isZero);
  Type i8 = builder.getI8Type();
  Value leastCode = choose(arith::OrIOp::create(builder, loc, isSigned, isZero),
                           integerLike(builder, loc, negative, i8, 0),
                           integerLike(builder, loc, negative, i8, 1));
  return {floatOf(builder, loc, scale),
          isSigned,
          isOrdinary,
          codePerValue,
          offset,
          choose(hasCodes, constant(0xff), constant(0)),
          leastCode};
}

// Returns numbers with the codes of `units` in their lowest bits, rounded once to nearest.
static Value withCodes(OpBuilder &builder, Location loc, Value units,
                       const BlockedStorage::Encoding &encoding) {
  return bitsOf(builder, loc,
                math::FmaOp::create(builder, loc, units, encoding.codePerValue, encoding.offset));
}

// Returns the codes of `values`. `units` holds values or their roots, which codes are proportional
// to.
static Value codesOf(OpBuilder &builder, Location loc, Value units, Value values,
                     const BlockedStorage::Encoding &encoding) {
  Type i32 = builder.getI32Type();
  auto constant = [&](uint64_t bits) { return integerLike(builder, loc, values, i32, bits); };
  Value bits = withCodes(builder, loc, units, encoding);
  // Nonzero values have a code of at least 1. In a block with negative values 1 stands for -127,
  // which is the smallest code anyway.
  Value magnitudeBits =
      arith::AndIOp::create(builder, loc, bitsOf(builder, loc, values), constant(0x7fffffff));
  Value isZero =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, magnitudeBits, constant(0));
  const uint64_t leastBits = llvm::bit_cast<uint32_t>(roundingOffset + 1);
  Value least = arith::SelectOp::create(builder, loc, isZero, constant(0), constant(leastBits));
  bits = arith::MaxSIOp::create(builder, loc, bits, least);
  bits = arith::AndIOp::create(builder, loc, bits, encoding.codeBits);
  return arith::TruncIOp::create(builder, loc, withShapeOf(values, builder.getI8Type()), bits);
}

// Returns the values that codes are proportional to.
Value BlockedStorage::rootsOf(OpBuilder &builder, Location loc, Value values) const {
  if (!isCompanded())
    return values;
  Value root = math::SqrtOp::create(builder, loc, math::AbsFOp::create(builder, loc, values));
  return math::CopySignOp::create(builder, loc, root, values);
}

Value BlockedStorage::narrow(OpBuilder &builder, Location loc, Value values,
                             const Encoding &encoding) const {
  return codesOf(builder, loc, rootsOf(builder, loc, values), values, encoding);
}

Value BlockedStorage::narrowRoots(OpBuilder &builder, Location loc, Value roots,
                                  const Encoding &encoding) const {
  return codesOf(builder, loc, roots, roots, encoding);
}

Value BlockedStorage::narrowOrdinary(OpBuilder &builder, Location loc, Value values, bool ofRoots,
                                     const Encoding &encoding) const {
  return withCodes(builder, loc, ofRoots ? values : rootsOf(builder, loc, values), encoding);
}

Value packedBytes(OpBuilder &builder, Location loc, ArrayRef<Value> numbers) {
  const size_t count = numbers.size();
  Value all;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    auto constant = [&](uint64_t value) {
      return integerLike(builder, loc, number, builder.getI32Type(), value);
    };
    Value byte = number;
    if (i + 1 < count)
      byte = arith::AndIOp::create(builder, loc, byte, constant(0xff));
    if (i > 0)
      byte = arith::ShLIOp::create(builder, loc, byte, constant(8 * i));
    all = all ? arith::OrIOp::create(builder, loc, all, byte).getResult() : byte;
  }
  const int64_t lanes = cast<VectorType>(numbers.front().getType()).getNumElements();
  auto type = VectorType::get(4 * lanes, builder.getI8Type());
  Value bytes = vector::BitCastOp::create(builder, loc, type, all);
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < int64_t(count) * lanes; ++i)
    order.push_back(i % lanes * 4 + i / lanes);
  return vector::ShuffleOp::create(builder, loc, bytes, bytes, order);
}

} // namespace updraft
