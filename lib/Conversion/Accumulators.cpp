//===- Accumulators.cpp - The lanes that a reduction adds to ----------------------------------===//
// The lanes are in memory: an iteration adds to a few of them, and comes back to the same ones only
// after all others, when their stores are long done.

#include "Accumulators.h"

#include "KernelMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft-c/kernel.h"

using namespace mlir;

namespace updraft {

Value reductionIdentity(OpBuilder &builder, Location loc, ReductionKind kind, Type type) {
  TypedAttr identity = builder.getF64FloatAttr(
      kind == ReductionKind::max ? -std::numeric_limits<double>::infinity() : 0.0);
  if (auto vector = dyn_cast<VectorType>(type))
    identity = DenseElementsAttr::get(vector, Attribute(identity));
  return arith::ConstantOp::create(builder, loc, type, identity);
}

static Value combine(OpBuilder &builder, Location loc, ReductionKind kind, Value left,
                     Value right) {
  if (kind == ReductionKind::max)
    return arith::MaximumFOp::create(builder, loc, left, right);
  return arith::AddFOp::create(builder, loc, left, right);
}

void accumulate(OpBuilder &builder, Location loc, ReductionKind kind, Value values, Value pointer,
                Value mask) {
  Value before = loadElements(builder, loc, values.getType(), pointer, mask);
  Value after = combine(builder, loc, kind, before, values);
  storeElements(builder, loc, after, pointer, mask);
}

LaneAccumulator::LaneAccumulator(OpBuilder &builder, Location loc, ReductionKind kind)
    : kind(kind) {
  Value count = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(UPD_LANES));
  lanes = LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                                 builder.getF64Type(), count, /*alignment=*/64);
}

void LaneAccumulator::reset(OpBuilder &builder, Location loc) const {
  Type all = VectorType::get(UPD_LANES, builder.getF64Type());
  storeElements(builder, loc, reductionIdentity(builder, loc, kind, all), lanes);
}

void LaneAccumulator::add(OpBuilder &builder, Location loc, Value lane, Value values,
                          Value mask) const {
  // A sum is never -0, so the identity changes no lane. Storing all lanes is cheaper than some, and
  // loading what was stored so does not wait.
  if (mask)
    values = arith::SelectOp::create(builder, loc, mask, values,
                                     reductionIdentity(builder, loc, kind, values.getType()));
  accumulate(builder, loc, kind, values,
             elementPointer(builder, loc, builder.getF64Type(), lanes, lane));
}

Value LaneAccumulator::total(OpBuilder &builder, Location loc) const {
  int64_t count = UPD_LANES / 2;
  Type f64 = builder.getF64Type();
  auto load = [&](int64_t first) {
    return loadElements(builder, loc, VectorType::get(count, f64),
                        elementPointer(builder, loc, f64, lanes, static_cast<int32_t>(first)));
  };
  Value sums = combine(builder, loc, kind, load(0), load(count));
  for (count /= 2; count >= 1; count /= 2) {
    auto part = [&](int64_t first) -> Value {
      return vector::ShuffleOp::create(builder, loc, sums, sums,
                                       llvm::to_vector(llvm::seq(first, first + count)));
    };
    Value low = part(0), high = part(count);
    sums = combine(builder, loc, kind, low, high);
  }
  return vector::ExtractOp::create(builder, loc, sums, 0);
}

} // namespace updraft
