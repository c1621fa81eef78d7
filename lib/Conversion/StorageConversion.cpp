//===- StorageConversion.cpp - The conversions of storage types -------------------------------===//
// Finds the conversion of a storage type, and implements conversions between floating-point types
// that several storage types share.

#include "updraft/Conversion/StorageConversion.h"

#include "StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace updraft {

const StorageConversion *StorageConversion::find(Type storage) {
  if (storage.isF32())
    return f32Storage();
  if (storage.isF64())
    return f64Storage();
  if (storage.isBF16())
    return bf16Storage();
  if (storage.isF16())
    return f16Storage();
  if (storage.isSignlessInteger(8))
    return i8Storage();
  return nullptr;
}

Type withShapeOf(Value value, Type element) {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    return vector.cloneWith(std::nullopt, element);
  return element;
}

Value integerLike(OpBuilder &builder, Location loc, Value value, Type element, uint64_t bits) {
  Type type = withShapeOf(value, element);
  TypedAttr attr =
      builder.getIntegerAttr(element, APInt(element.getIntOrFloatBitWidth(), bits).getSExtValue());
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, type, attr);
}

Value floatLike(OpBuilder &builder, Location loc, Value value, double constant) {
  TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(value.getType()), constant);
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, value.getType(), attr);
}

Value convertFloat(OpBuilder &builder, Location loc, Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type type = withShapeOf(value, element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

// Rounds to odd: an inexact result is the neighbour whose last bit is 1, so it is never a midpoint
// of the narrower type. Rounding to nearest gives one neighbour. If its last bit is 0, the other
// neighbour is one step towards or away from zero.
Value roundToOdd(OpBuilder &builder, Location loc, Value value) {
  Type f32 = builder.getF32Type(), f64 = builder.getF64Type(), i32 = builder.getI32Type();
  Type bitsType = withShapeOf(value, i32);
  Value nearest = convertFloat(builder, loc, value, f32);
  Value back = convertFloat(builder, loc, nearest, f64);
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  };
  auto constant = [&](uint64_t bits) { return integerLike(builder, loc, value, i32, bits); };

  Value bits = arith::BitcastOp::create(builder, loc, bitsType, nearest);
  // False for NaN, which doesn't change.
  Value inexact = compare(arith::CmpFPredicate::ONE, back, value);
  Value one = constant(1);
  Value lastBit = arith::AndIOp::create(builder, loc, bits, one);
  Value even = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lastBit, constant(0));
  Value wrong = arith::AndIOp::create(builder, loc, inexact, even);
  // The magnitude grew if the result is further from zero than `value`. The sign comes from the f32
  // bits, because `back` may be zero.
  Value above = compare(arith::CmpFPredicate::OGT, back, value);
  Value negative =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, bits, constant(0));
  Value grew = arith::XOrIOp::create(builder, loc, above, negative);
  Value step = arith::SelectOp::create(builder, loc, grew, constant(~uint64_t(0)), one);
  Value other = arith::AddIOp::create(builder, loc, bits, step);
  Value result = arith::SelectOp::create(builder, loc, wrong, other, bits);
  return arith::BitcastOp::create(builder, loc, nearest.getType(), result);
}

} // namespace updraft
