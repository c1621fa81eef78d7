//===- PassObserver.cpp - Watches a compilation after every pass ------------------------------===//

#include "PassObserver.h"

#include "mlir/Pass/Pass.h"

using namespace updraft;

// Passes without an argument only run other passes.
static bool isObserved(mlir::Pass *pass) { return !pass->getArgument().empty(); }

void ObservePasses::runBeforePass(mlir::Pass *pass, mlir::Operation *) {
  if (isObserved(pass))
    for (PassObserver *observer : observers)
      observer->beforePass();
}

void ObservePasses::after(mlir::Pass *pass, mlir::Operation *op, bool failed) {
  if (!isObserved(pass) || observers.empty())
    return;
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<mlir::ModuleOp>();
  for (PassObserver *observer : observers)
    observer->afterPass(pass->getArgument(), failed, module);
}
