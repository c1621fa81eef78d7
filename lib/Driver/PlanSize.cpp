//===- PlanSize.cpp - The size of plans -------------------------------------------------------===//

#include "PlanSize.h"

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "updraft/Frontend/Limits.h"

#include <algorithm>

using namespace updraft;

size_t updraft::sizeOfPlans(mlir::ModuleOp module) {
  size_t unprobed = 0, probed = 0;
  for (PlanOp plan : formsIn<PlanOp>(module)) {
    size_t &size = plan.isBesideUnprobed() ? probed : unprobed;
    plan.walk([&](mlir::Operation *op) {
      if (auto sweep = mlir::dyn_cast<SweepOp>(op))
        size += operationsOfReduction * (1 + sweep.getReductions().size());
      else if (isOfWholeMatrices(op))
        size += operationsOfProduct;
      else
        size += isElementaryFunction(op) ||
                        mlir::isa<mlir::arith::MaximumFOp, mlir::arith::MinimumFOp>(op)
                    ? operationsOfFunction
                    : 1;
    });
  }
  return std::max(unprobed, probed);
}
