//===- KernelMemory.h - Loads and stores of the kernel's arguments ------------------*- C++ -*-===//
// Compiled code uses plain pointers. If nothing more is known, accesses have the alignment of one
// element.

#ifndef UPDRAFT_LIB_CONVERSION_KERNELMEMORY_H
#define UPDRAFT_LIB_CONVERSION_KERNELMEMORY_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace updraft {

/// Returns the size in bytes of `type`, or of its element if it is a vector.
unsigned elementBytes(mlir::Type type);

/// Returns the address of element `index` of an array of `element`.
mlir::Value elementPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element,
                           mlir::Value base, mlir::LLVM::GEPArg index);

/// The same if `base` or the result may lie outside of the array.
mlir::Value shiftedPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element,
                           mlir::Value base, mlir::LLVM::GEPArg index);

/// Loads a value of `type`. With a `mask`, loads only its lanes, and the others are zero.
/// `alignment` is in bytes; 0 means that of an element.
mlir::Value loadElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                         mlir::Value pointer, mlir::Value mask = {}, unsigned alignment = 0);

/// Stores `value`; `mask` and `alignment` are as above.
void storeElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Value pointer, mlir::Value mask = {}, unsigned alignment = 0);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_KERNELMEMORY_H
