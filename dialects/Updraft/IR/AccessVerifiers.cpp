//===- AccessVerifiers.cpp - Constraints of accesses to memory --------------------------------===//

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace updraft;

bool ElementsType::isElement(Type type) {
  if (type.isSignlessInteger())
    return llvm::is_contained({8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth());
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

LogicalResult ElementsType::verify(function_ref<InFlightDiagnostic()> emitError, Type element,
                                   unsigned) {
  // elementstype_c1
  if (!isElement(element))
    return emitError() << "element type is " << element
                       << ", must be f16, bf16, f32, f64, i8, i16, i32 or i64";
  return success();
}

LogicalResult ScratchOp::verify() {
  // scratch_c1
  if (unsigned space = getType().getSpace())
    return emitOpError() << "is in space " << space << ", must be in space 0";
  // scratch_c2
  if (!isa<FunctionOpInterface>((*this)->getParentOp()))
    return emitOpError("is in another operation, must be directly in a function");
  return success();
}

static LogicalResult verifyIndices(Operation *op, ValueRange indices) {
  // read_c2, write_c2, prefetch_c1
  if (indices.empty())
    return op->emitOpError("has no index, must have at least one");
  if (!llvm::all_equal(indices.getTypes()))
    return op->emitOpError("has indices of different types, must be of one type");
  return success();
}

template <typename Access> static LogicalResult verifyAccess(Access access, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  // read_c1, write_c1
  bool isPlain = !vector || (vector.getRank() == 1 && !vector.isScalable());
  if (!isPlain || getElementTypeOrSelf(type) != access.getElementType())
    return access.emitOpError() << "has values of type " << type << ", must be "
                                << access.getElementType() << " or a vector of it";
  // read_c3, write_c3
  if (Value mask = access.getMask()) {
    auto lanes = cast<VectorType>(mask.getType());
    if (!vector || lanes.getShape() != vector.getShape())
      return access.emitOpError() << "has values of type " << type << " and a mask of type "
                                  << lanes << ", must have as many lanes";
  }
  return verifyIndices(access, access.getIndices());
}

LogicalResult ReadOp::verify() { return verifyAccess(*this, getValues().getType()); }

LogicalResult WriteOp::verify() { return verifyAccess(*this, getValues().getType()); }

LogicalResult PrefetchOp::verify() { return verifyIndices(*this, getIndices()); }
