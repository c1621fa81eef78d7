//===- StreamAddress.cpp - Addresses of streams in a loop -------------------------------------===//
// Matches the forms in which KernelMemory creates addresses.

#include "StreamAddress.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace updraft {

std::optional<StreamAddress> StreamAddress::match(Value address, scf::ForOp loop) {
  auto pointer = address.getDefiningOp<LLVM::GEPOp>();
  if (!pointer || !loop.isDefinedOutsideOfLoop(pointer.getBase()) ||
      pointer.getRawConstantIndices().size() != 1 || pointer.getDynamicIndices().size() != 1)
    return std::nullopt;
  Value index = pointer.getDynamicIndices().front();
  if (index == loop.getInductionVar())
    return StreamAddress{pointer.getBase(), Value(), pointer.getElemType()};
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getRhs() != loop.getInductionVar() || !loop.isDefinedOutsideOfLoop(sum.getLhs()))
    return std::nullopt;
  return StreamAddress{pointer.getBase(), sum.getLhs(), pointer.getElemType()};
}

} // namespace updraft
