//===- UpdraftDialect.h - The updraft dialect ---------------------------------------*- C++ -*-===//
// The dialect class, its attributes and its types.

#ifndef UPDRAFT_IR_UPDRAFTDIALECT_H
#define UPDRAFT_IR_UPDRAFTDIALECT_H

#include "Updraft/IR/UpdraftEnums.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Types.h"

#include "Updraft/IR/UpdraftDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Updraft/IR/UpdraftAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Updraft/IR/UpdraftTypes.h.inc"

#endif // UPDRAFT_IR_UPDRAFTDIALECT_H
