//===- VectorBody.cpp - The body of a sweep, on scalars or vectors ----------------------------===//
// Elementwise operations are the same on vectors; constants are splatted.

#include "VectorBody.h"
#include "Updraft/Transforms/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace updraft {

// Whether every CPU has instructions for the operation. Other operations would become one call of
// the C library per element.
static bool hasVectorInstructions(Operation &op) {
  if (isa<arith::ConstantOp, RandomOp, IdentityOp>(op))
    return true;
  // updraft-outline-math turns these into functions of the module.
  if (isElementaryFunction(&op))
    return true;
  if (!op.hasTrait<OpTrait::Elementwise>())
    return false;
  if (!isa<math::MathDialect>(op.getDialect()))
    return !isa<arith::RemFOp>(op);
  if (auto root = dyn_cast<math::RsqrtOp>(op))
    return root.getFastmath() == arith::FastMathFlags::afn; // of a GPU
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundOp,
             math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op);
}

LogicalResult checkVectorizable(SweepOp sweep) {
  for (Operation &op : sweep.getBody().front().without_terminator())
    if (!hasVectorInstructions(op))
      return op.emitOpError("has no vector instructions, and a sweep calls no library; expand it "
                            "with `updraft-expand-math`");
  return success();
}

Type laneType(Type type, unsigned lanes) {
  return lanes == 1 ? type : VectorType::get(lanes, type);
}

void cloneOnLanes(OpBuilder &builder, Operation &op, IRMapping &map, unsigned lanes) {
  Operation *clone = builder.clone(op, map);
  if (lanes == 1)
    return;
  for (Value result : clone->getResults())
    result.setType(laneType(result.getType(), lanes));
  if (auto constant = dyn_cast<arith::ConstantOp>(clone))
    constant.setValueAttr(
        DenseElementsAttr::get(cast<ShapedType>(constant.getType()), constant.getValue()));
}

SmallVector<Value> cloneBody(OpBuilder &builder, SweepOp sweep, ValueRange arguments,
                             unsigned lanes, llvm::function_ref<Value(Operation *)> byPlace) {
  IRMapping map;
  Block &body = sweep.getBody().front();
  map.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    if (isa<RandomOp, IdentityOp>(op)) {
      map.map(op.getResult(0), byPlace(&op));
      continue;
    }
    cloneOnLanes(builder, op, map, lanes);
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return map.lookup(value); });
}

} // namespace updraft
