//===- UpdraftOps.cpp - Generated definitions of the operations -------------------------------===//

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace updraft;

#include "Updraft/IR/UpdraftInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "Updraft/IR/UpdraftOps.cpp.inc"

bool PlanOp::multiplies() { return !getBody().getOps<MultiplyOp>().empty(); }

bool PlanOp::hasWholeMatrices() {
  return llvm::any_of(getBody().front(),
                      [](Operation &operation) { return isOfWholeMatrices(&operation); });
}

bool PlanOp::isProbed() { return !getBody().getOps<ProbeOp>().empty(); }

bool PlanOp::isBesideUnprobed() {
  if (!isProbed())
    return false;
  auto firstForm = [](Operation *place) {
    auto variants = dyn_cast<VariantsOp>(place);
    return dyn_cast<PlanOp>(variants ? variants.getForms().front() : place);
  };
  Operation *place = isa<VariantsOp>((*this)->getParentOp()) ? (*this)->getParentOp() : *this;
  Operation *before = place->getPrevNode();
  while (before && !isa<PlanOp, VariantsOp>(before))
    before = before->getPrevNode();
  PlanOp other = before ? firstForm(before) : PlanOp();
  return other && !other.isProbed() &&
         firstForm(place).getSymName() == (other.getSymName() + probedSuffix).str();
}
