//===- UpdraftDialect.h - The updraft dialect ---------------------------------------*- C++ -*-===//
// The dialect class and its types.

#ifndef UPDRAFT_IR_UPDRAFTDIALECT_H
#define UPDRAFT_IR_UPDRAFTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Types.h"

#include "Updraft/IR/UpdraftDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Updraft/IR/UpdraftTypes.h.inc"

#endif // UPDRAFT_IR_UPDRAFTDIALECT_H
