//===- StorageInteger.cpp - i8 in memory ------------------------------------------------------===//
// Small integers as values of the compute type, such as the correction of a bf16 stream.

#include "StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace updraft {
namespace {

class ByteStorage : public StorageConversion {
public:
  Type memoryType(MLIRContext *context) const override { return IntegerType::get(context, 8); }

  Value widen(OpBuilder &builder, Location loc, Value stored, Type compute) const override {
    return arith::SIToFPOp::create(builder, loc, withShapeOf(stored, compute), stored);
  }

  // Rounds to nearest even and saturates; NaN becomes 0. Converts through i32, for which processors
  // have an instruction.
  Value narrow(OpBuilder &builder, Location loc, Value value) const override {
    auto replaceBy = [&](double bound, arith::CmpFPredicate where) {
      Value other = floatLike(builder, loc, value, bound);
      Value beyond = arith::CmpFOp::create(builder, loc, where, value, other);
      value = arith::SelectOp::create(builder, loc, beyond, other, value);
    };
    replaceBy(0, arith::CmpFPredicate::UNO);
    replaceBy(-128, arith::CmpFPredicate::OLT);
    replaceBy(127, arith::CmpFPredicate::OGT);
    Value rounded = math::RoundEvenOp::create(builder, loc, value);
    Value integer =
        arith::FPToSIOp::create(builder, loc, withShapeOf(value, builder.getI32Type()), rounded);
    return arith::TruncIOp::create(builder, loc, withShapeOf(value, builder.getI8Type()), integer);
  }
};

} // namespace

const StorageConversion *i8Storage() {
  static const ByteStorage storage;
  return &storage;
}

} // namespace updraft
