//===- PlanInterface.cpp - Where a plan's values lie in the kernel's arguments ----------------===//
// Everything is numbered in the order in which the plan declares it.

#include "PlanInterface.h"

using namespace mlir;

namespace updraft {

FailureOr<PlanInterface> PlanInterface::of(PlanOp plan) {
  PlanInterface result;
  result.plan = plan;
  result.compute = plan.getCompute();
  unsigned nextRow = 1;
  for (Operation &op : plan.getBody().front()) {
    if (auto hyper = dyn_cast<HyperOp>(op)) {
      result.hyperIndex.insert({hyper.getResult(), result.hyperIndex.size()});
    } else if (auto stream = dyn_cast<StreamOp>(op)) {
      result.streamIndex.insert({stream.getResult(), result.streamIndex.size()});
    } else if (auto prologue = dyn_cast<PrologueOp>(op)) {
      for (auto [index, value] : llvm::enumerate(prologue.getResults())) {
        if (value.getType() != result.compute && !value.getType().isInteger(1))
          return prologue.emitOpError()
                 << "result #" << index << " is " << value.getType()
                 << ", a row holds values of the compute type " << result.compute
                 << " and flags; convert it in the prologue";
        result.rowIndex.insert({value, nextRow++});
      }
    }
  }
  return result;
}

} // namespace updraft
