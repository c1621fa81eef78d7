//===- UpdraftOps.cpp - Generated definitions of the operations -------------------------------===//

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace updraft;

#define GET_OP_CLASSES
#include "Updraft/IR/UpdraftOps.cpp.inc"

bool PlanOp::multiplies() { return !getBody().getOps<MultiplyOp>().empty(); }

bool PlanOp::hasWholeMatrices() { return multiplies() || !getBody().getOps<CallOp>().empty(); }
