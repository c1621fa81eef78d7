//===- Pipelines.cpp - Pass pipelines ---------------------------------------------------------===//

#include "Updraft/Transforms/Pipelines.h"

#include "Updraft/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void updraft::buildSchedulePipeline(mlir::OpPassManager &passes) {
  passes.addPass(createExpandStoragePass());
  passes.addPass(createSimplifyPass());
  passes.addPass(createRelaxPass());
  passes.addPass(createSchedulePass());
}

void updraft::buildPlanPipeline(mlir::OpPassManager &passes) {
  buildSchedulePipeline(passes);
  passes.addPass(createExpandMathPass());
}

void updraft::registerPlanPipeline() {
  mlir::PassPipelineRegistration<>(
      "updraft-plan-pipeline",
      "From rules to plans: expand storage, simplify, relax, schedule, expand math",
      buildPlanPipeline);
}
