//===- Pipelines.cpp - The passes from a rule to a plan ---------------------------------------===//

#include "Updraft/Transforms/Pipelines.h"

#include "Updraft/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace updraft;

/// Adds the passes to a plan for any target.
static void addSchedule(mlir::OpPassManager &passes) {
  passes.addPass(createSeparateProbesPass());
  passes.addPass(createExpandStoragePass());
  passes.addPass(createSimplifyPass());
  passes.addPass(createRelaxPass());
  passes.addPass(createOrientProductsPass());
  passes.addPass(createSchedulePass());
}

void updraft::buildPlanPipeline(mlir::OpPassManager &passes) {
  addSchedule(passes);
  passes.addPass(createOrderStagesPass());
}

void updraft::buildCPUPlanPipeline(mlir::OpPassManager &passes) {
  addSchedule(passes);
  passes.addPass(createFuseEpiloguesPass());
  passes.addPass(createOrderStagesPass());
}

void updraft::buildTorchPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createSeparateProbesPass({.onlyUnprobed = true}));
  passes.addPass(createExpandStoragePass());
  passes.addPass(createSimplifyPass());
}

void updraft::registerRulePipelines() {
  mlir::PassPipelineRegistration<>(
      "updraft-plan-pipeline",
      "From rules to plans: separate probes, expand storage, simplify, relax, orient products, "
      "schedule, order stages",
      buildPlanPipeline);
  mlir::PassPipelineRegistration<>("updraft-cpu-plan-pipeline",
                                   "From rules to plans for a CPU: the same, but fuse epilogues "
                                   "before the stages are ordered",
                                   buildCPUPlanPipeline);
  mlir::PassPipelineRegistration<>(
      "updraft-torch-pipeline",
      "From rules to what is printed as PyTorch operations: drop probes, expand storage, simplify",
      buildTorchPipeline);
}
