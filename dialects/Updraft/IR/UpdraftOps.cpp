//===- UpdraftOps.cpp - Verifiers of the operations -----------------------------------===//

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace updraft;

#define GET_OP_CLASSES
#include "Updraft/IR/UpdraftOps.cpp.inc"

LogicalResult RuleOp::verifyRegions() { return success(); }
LogicalResult InitialOp::verifyRegions() { return success(); }
LogicalResult ValidateOp::verifyRegions() { return success(); }
LogicalResult PrologueOp::verifyRegions() { return success(); }
LogicalResult PassOp::verifyRegions() { return success(); }
