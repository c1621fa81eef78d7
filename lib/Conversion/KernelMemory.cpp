//===- KernelMemory.cpp - Loads and stores of the kernel's arguments --------------------------===//
// Vector accesses have the alignment of one element, because a tensor may start at any element.

#include "KernelMemory.h"

#include "ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace updraft {

unsigned elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<LLVM::LLVMPointerType>(element) ? 8 : element.getIntOrFloatBitWidth() / 8;
}

Value elementPointer(OpBuilder &builder, Location loc, Type element, Value base,
                     LLVM::GEPArg index) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), element, base, ArrayRef(index),
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value shiftedPointer(OpBuilder &builder, Location loc, Type element, Value base,
                     LLVM::GEPArg index) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), element, base, ArrayRef(index));
}

Value loadElements(OpBuilder &builder, Location loc, Type type, Value pointer, Value mask,
                   unsigned alignment) {
  if (alignment == 0)
    alignment = elementBytes(type);
  if (!mask)
    return LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
  Value zero = arith::ConstantOp::create(builder, unnamed(loc), type, builder.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(builder, loc, type, pointer, mask, zero,
                                    builder.getI32IntegerAttr(alignment), UnitAttr());
}

void storeElements(OpBuilder &builder, Location loc, Value value, Value pointer, Value mask,
                   unsigned alignment) {
  if (alignment == 0)
    alignment = elementBytes(value.getType());
  if (mask)
    LLVM::MaskedStoreOp::create(builder, loc, value, pointer, mask, alignment);
  else
    LLVM::StoreOp::create(builder, loc, value, pointer, alignment);
}

} // namespace updraft
