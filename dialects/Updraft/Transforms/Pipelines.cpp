//===- Pipelines.cpp - The passes from a rule to a plan ---------------------------------------===//

#include "Updraft/Transforms/Pipelines.h"

#include "Updraft/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void updraft::buildPlanPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createSeparateProbesPass());
  passes.addPass(createExpandStoragePass());
  passes.addPass(createSimplifyPass());
  passes.addPass(createRelaxPass());
  passes.addPass(createOrientProductsPass());
  passes.addPass(createSchedulePass());
}

void updraft::buildCPUPlanPipeline(mlir::OpPassManager &passes) {
  buildPlanPipeline(passes);
  passes.addPass(createFuseEpiloguesPass());
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
      "schedule",
      buildPlanPipeline);
  mlir::PassPipelineRegistration<>("updraft-cpu-plan-pipeline",
                                   "From rules to plans for a CPU: the same, fuse epilogues",
                                   buildCPUPlanPipeline);
  mlir::PassPipelineRegistration<>(
      "updraft-torch-pipeline",
      "From rules to what is printed as PyTorch operations: drop probes, expand storage, simplify",
      buildTorchPipeline);
}
