//===- VectorBody.cpp - The body of a pass, on scalars or vectors ---------------------------===//
// Elementwise operations are the same operation on vectors; constants are splatted.

#include "VectorBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace updraft {

LogicalResult checkVectorizable(PassOp pass) {
  for (Operation &op : pass.getBody().front().without_terminator()) {
    bool scalarTypes =
        llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrFloat(); });
    if (isa<arith::ConstantOp>(op) && scalarTypes)
      continue;
    if (!op.hasTrait<OpTrait::Elementwise>() || !scalarTypes)
      return op.emitOpError("is not elementwise; the body of a pass computes one element, from "
                            "elementwise operations on scalars");
  }
  return success();
}

Type laneType(Type type, unsigned lanes) {
  return lanes == 1 ? type : VectorType::get(lanes, type);
}

SmallVector<Value> cloneBody(OpBuilder &builder, PassOp pass, ValueRange arguments,
                             unsigned lanes) {
  IRMapping map;
  Block &body = pass.getBody().front();
  map.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    Operation *clone = builder.clone(op, map);
    if (lanes == 1)
      continue;
    for (Value result : clone->getResults())
      result.setType(laneType(result.getType(), lanes));
    if (auto constant = dyn_cast<arith::ConstantOp>(clone))
      constant.setValueAttr(
          DenseElementsAttr::get(cast<ShapedType>(constant.getType()), constant.getValue()));
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return map.lookup(value); });
}

} // namespace updraft
