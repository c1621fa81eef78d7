//===- Pipelines.h - The passes from a rule to a plan -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_PIPELINES_H
#define UPDRAFT_TRANSFORMS_PIPELINES_H

namespace mlir {
class OpPassManager;
}

namespace updraft {

/// From rules, as the frontend makes them, to plans: separate probes, expand storage, simplify,
/// relax, orient products, schedule.
/// `passes` runs on a `builtin.module`.
void buildPlanPipeline(mlir::OpPassManager &passes);

/// The same for plans that run on a CPU, whose products add matrices where they store tiles.
void buildCPUPlanPipeline(mlir::OpPassManager &passes);

/// From rules to what is printed as PyTorch operations: drop probes, expand storage, simplify.
void buildTorchPipeline(mlir::OpPassManager &passes);

/// Registers these for command lines as `updraft-plan-pipeline`, `updraft-cpu-plan-pipeline` and
/// `updraft-torch-pipeline`.
void registerRulePipelines();

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_PIPELINES_H
