//===- UpdraftOps.h - Operations of the updraft dialect -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_UPDRAFTOPS_H
#define UPDRAFT_IR_UPDRAFTOPS_H

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "Updraft/IR/UpdraftOps.h.inc"

#endif // UPDRAFT_IR_UPDRAFTOPS_H
