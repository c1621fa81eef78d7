//===- StorageBFloat16.cpp - bf16 in memory -------------------------------------------------===//
// bf16 is the upper half of an f32. It is converted by integer arithmetic: where processors have an
// instruction for it, that flushes denormals, and elsewhere `arith.truncf` is a library call.

#include "StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace updraft {
namespace {

class BFloat16Storage : public StorageConversion {
public:
  Type memoryType(MLIRContext *context) const override { return IntegerType::get(context, 16); }

  Value widen(OpBuilder &builder, Location loc, Value stored, Type compute) const override {
    Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
    Value extended = arith::ExtUIOp::create(builder, loc, withShapeOf(stored, i32), stored);
    Value bits =
        arith::ShLIOp::create(builder, loc, extended, integerLike(builder, loc, stored, i32, 16));
    Value value = arith::BitcastOp::create(builder, loc, withShapeOf(stored, f32), bits);
    return convertFloat(builder, loc, value, compute);
  }

  Value narrow(OpBuilder &builder, Location loc, Value value) const override {
    Type i16 = builder.getI16Type(), i32 = builder.getI32Type();
    if (getElementTypeOrSelf(value.getType()).isF64())
      value = roundToOdd(builder, loc, value);
    auto constant = [&](uint64_t bits) { return integerLike(builder, loc, value, i32, bits); };
    Value bits = arith::BitcastOp::create(builder, loc, withShapeOf(value, i32), value);
    Value upper = arith::ShRUIOp::create(builder, loc, bits, constant(16));
    // Half a unit less one, plus the last bit that stays: carries exactly when it must round up.
    Value lastBit = arith::AndIOp::create(builder, loc, upper, constant(1));
    Value half = arith::AddIOp::create(builder, loc, lastBit, constant(0x7fff));
    Value sum = arith::AddIOp::create(builder, loc, bits, half);
    Value rounded = arith::ShRUIOp::create(builder, loc, sum, constant(16));
    // A NaN whose payload is in the lower half must not become an infinity.
    Value quiet = arith::OrIOp::create(builder, loc, upper, constant(0x40));
    Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
    Value result = arith::SelectOp::create(builder, loc, isNaN, quiet, rounded);
    return arith::TruncIOp::create(builder, loc, withShapeOf(value, i16), result);
  }
};

} // namespace

const StorageConversion *bf16Storage() {
  static const BFloat16Storage storage;
  return &storage;
}

} // namespace updraft
