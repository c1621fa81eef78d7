//===- StorageInteger.cpp - i8 in memory ------------------------------------------------------===//
// Small integers, as values of the compute type: what accompanies a bf16 stream as its correction.

#include "StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

  // By way of i32, for which processors have an instruction.
  Value narrow(OpBuilder &builder, Location loc, Value value) const override {
    Value integer =
        arith::FPToSIOp::create(builder, loc, withShapeOf(value, builder.getI32Type()), value);
    return arith::TruncIOp::create(builder, loc, withShapeOf(value, builder.getI8Type()), integer);
  }
};

} // namespace

const StorageConversion *i8Storage() {
  static const ByteStorage storage;
  return &storage;
}

} // namespace updraft
