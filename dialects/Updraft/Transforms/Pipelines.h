//===- Pipelines.h - Pass pipelines -------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_PIPELINES_H
#define UPDRAFT_TRANSFORMS_PIPELINES_H

namespace mlir {
class OpPassManager;
}

namespace updraft {

/// Lowers rules from the frontend to plans: expand storage, simplify, relax, schedule. `passes`
/// must run on a `builtin.module`.
void buildSchedulePipeline(mlir::OpPassManager &passes);

/// The same, followed by expand math: produces plans that can be lowered.
void buildPlanPipeline(mlir::OpPassManager &passes);

/// Registers the pipeline above as `updraft-plan-pipeline` for command lines.
void registerPlanPipeline();

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_PIPELINES_H
