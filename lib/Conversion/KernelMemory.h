//===- KernelMemory.h - Loads and stores of the kernel's arguments ------------------*- C++ -*-===//
// Memory as compiled code sees it: plain pointers, accessed with the alignment of one element where
// no more is known.

#ifndef UPDRAFT_LIB_CONVERSION_KERNELMEMORY_H
#define UPDRAFT_LIB_CONVERSION_KERNELMEMORY_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace updraft {

/// Bytes of one element of `type`, or of the element of a vector type.
unsigned elementBytes(mlir::Type type);

/// The address of element `index` of an array of `element`.
mlir::Value elementPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element,
                           mlir::Value base, mlir::LLVM::GEPArg index);

/// The same, of an address that may be outside of what it is in, or from such a one.
mlir::Value shiftedPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element,
                           mlir::Value base, mlir::LLVM::GEPArg index);

/// Loads a value of `type`; only the lanes of `mask`, if there is one, and zero in the others.
/// `alignment`, in bytes, is that of an element if it is 0.
mlir::Value loadElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                         mlir::Value pointer, mlir::Value mask = {}, unsigned alignment = 0);

/// Stores `value` likewise.
void storeElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Value pointer, mlir::Value mask = {}, unsigned alignment = 0);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_KERNELMEMORY_H
