//===- StorageFloat16.cpp - f16 in memory -----------------------------------------------------===//
// Every target has instructions to convert between f16 and f32 (F16C, AVX-512, NEON, PTX). The
// memory type is i16, because not every target has masked accesses of f16.

#include "StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace updraft {
namespace {

class Float16Storage : public StorageConversion {
public:
  Type memoryType(MLIRContext *context) const override { return IntegerType::get(context, 16); }

  Value widen(OpBuilder &builder, Location loc, Value stored, Type compute) const override {
    Value half =
        arith::BitcastOp::create(builder, loc, withShapeOf(stored, builder.getF16Type()), stored);
    Value value = convertFloat(builder, loc, half, builder.getF32Type());
    return convertFloat(builder, loc, value, compute);
  }

  Value narrow(OpBuilder &builder, Location loc, Value value) const override {
    if (getElementTypeOrSelf(value.getType()).isF64())
      value = roundToOdd(builder, loc, value);
    Value half = convertFloat(builder, loc, value, builder.getF16Type());
    return arith::BitcastOp::create(builder, loc, withShapeOf(value, builder.getI16Type()), half);
  }
};

} // namespace

const StorageConversion *f16Storage() {
  static const Float16Storage storage;
  return &storage;
}

} // namespace updraft
