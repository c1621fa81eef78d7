//===- StorageFloat.cpp - f32 and f64 in memory -----------------------------------------------===//
// Processors compute in these types: a conversion is one instruction, or none.

#include "StorageTypes.h"

using namespace mlir;

namespace updraft {
namespace {

class FloatStorage : public StorageConversion {
public:
  explicit FloatStorage(bool isDouble) : isDouble(isDouble) {}

  Type memoryType(MLIRContext *context) const override {
    return isDouble ? Type(Float64Type::get(context)) : Type(Float32Type::get(context));
  }
  Value widen(OpBuilder &builder, Location loc, Value stored, Type compute) const override {
    return convertFloat(builder, loc, stored, compute);
  }
  Value narrow(OpBuilder &builder, Location loc, Value value) const override {
    return convertFloat(builder, loc, value, memoryType(builder.getContext()));
  }

private:
  bool isDouble;
};

} // namespace

const StorageConversion *f32Storage() {
  static const FloatStorage storage(/*isDouble=*/false);
  return &storage;
}

const StorageConversion *f64Storage() {
  static const FloatStorage storage(/*isDouble=*/true);
  return &storage;
}

} // namespace updraft
