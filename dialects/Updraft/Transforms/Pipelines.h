//===- Pipelines.h - Passes in their order ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_PIPELINES_H
#define UPDRAFT_TRANSFORMS_PIPELINES_H

namespace mlir {
class OpPassManager;
}

namespace updraft {

/// From rules, as the frontend makes them, to plans: expand storage, simplify, relax, schedule.
/// `passes` runs on a `builtin.module`.
void buildSchedulePipeline(mlir::OpPassManager &passes);

/// The same, then expand math: to plans that can be lowered.
void buildPlanPipeline(mlir::OpPassManager &passes);

/// Makes the above known to command lines as `updraft-plan-pipeline`.
void registerPlanPipeline();

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_PIPELINES_H
