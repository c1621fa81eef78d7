//===- Pipelines.cpp - The passes from rule to plan, in order -----------------------------===//

#include "Updraft/Transforms/Pipelines.h"

#include "Updraft/Transforms/Passes.h"

void updraft::buildPlanPipeline(mlir::OpPassManager &manager) {
  manager.addPass(createSchedulePass());
}
