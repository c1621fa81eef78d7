//===- AccessVerifiers.cpp - Constraints of accesses to memory --------------------------------===//

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace updraft;

LogicalResult ElementsType::verify(function_ref<InFlightDiagnostic()> emitError, Type element,
                                   unsigned) {
  // elementstype_c1
  bool isWhole = element.isSignlessInteger() || isa<FloatType>(element);
  if (!isWhole || element.getIntOrFloatBitWidth() % 8 != 0)
    return emitError() << "element type is " << element
                       << ", must be a floating-point or signless integer type of whole bytes";
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
    if (!vector || lanes.getShape() != vector.getShape() || lanes.isScalable())
      return access.emitOpError() << "has values of type " << type << " and a mask of type "
                                  << lanes << ", must have as many lanes";
  }
  // read_c4, write_c4
  if (auto alignment = access.getAlignment(); alignment && !llvm::isPowerOf2_64(*alignment))
    return access.emitOpError() << "has an alignment of " << *alignment
                                << " bytes, must be a power of two";
  return verifyIndices(access, access.getIndices());
}

LogicalResult ReadOp::verify() { return verifyAccess(*this, getValues().getType()); }

LogicalResult WriteOp::verify() { return verifyAccess(*this, getValues().getType()); }

LogicalResult PrefetchOp::verify() { return verifyIndices(*this, getIndices()); }
