//===- UpdraftDialect.cpp - Dialect registration and types ------------------------------------===//

#include "Updraft/IR/UpdraftDialect.h"

#include "Bytecode.h"
#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace updraft;

#include "Updraft/IR/UpdraftDialect.cpp.inc"

#include "Updraft/IR/UpdraftEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Updraft/IR/UpdraftAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "Updraft/IR/UpdraftTypes.cpp.inc"

LogicalResult UpdraftDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != "updraft.shared")
    return success();
  // shared_c1
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  auto reduce = dyn_cast<ReduceOp>(op);
  if (reduce && reduce.getOver() == Extent::group && number &&
      number.getType().isSignlessInteger(64) && number.getValue().ult(1 << 16))
    return success();
  return op->emitOpError() << "has `updraft.shared` = " << attribute.getValue()
                           << ", which is a number from 0 to 65535 of a reduction over `group`";
}

void UpdraftDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Updraft/IR/UpdraftAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "Updraft/IR/UpdraftTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Updraft/IR/UpdraftOps.cpp.inc"
      >();
  addBytecodeInterface(*this);
}

// stochastictype_c1, correctedtype_c1
static LogicalResult verifyBFloat16(function_ref<InFlightDiagnostic()> emitError, Type storage) {
  if (storage.isBF16())
    return success();
  return emitError() << "storage type is " << storage << ", must be bf16";
}

LogicalResult StochasticType::verify(function_ref<InFlightDiagnostic()> emitError, Type storage) {
  return verifyBFloat16(emitError, storage);
}

LogicalResult CorrectedType::verify(function_ref<InFlightDiagnostic()> emitError, Type storage) {
  return verifyBFloat16(emitError, storage);
}

LogicalResult StreamType::verify(function_ref<InFlightDiagnostic()> emitError, Type storage,
                                 Extent over) {
  // streamtype_c1
  if (!isa<Float32Type, Float64Type, BFloat16Type, Float16Type, BlockedType>(storage) &&
      !storage.isSignlessInteger(8))
    return emitError() << "storage type is " << storage
                       << ", must be f32, f64, bf16, f16, i8 or !updraft.blocked";
  // streamtype_c2
  if (!isInMemoryExtent(over))
    return emitError() << "is over `" << stringifyExtent(over)
                       << "`, must be over `element`, `row`, `column`, `batch`, `rows_by_rows`, "
                          "`columns_by_columns`, `chosen_by_columns`, `rows_by_chosen` or "
                          "`chosen_by_chosen`";
  // streamtype_c3
  if (isa<BlockedType>(storage) && over != Extent::element)
    return emitError() << "is stored as " << storage << " over `" << stringifyExtent(over)
                       << "`, must be over `element`";
  return success();
}
