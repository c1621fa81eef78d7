//===- Pipelines.h - The passes from rule to plan, in order -------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_PIPELINES_H
#define UPDRAFT_TRANSFORMS_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace updraft {

/// Adds the passes that turn every `updraft.rule` of a module into an `updraft.plan`.
void buildPlanPipeline(mlir::OpPassManager &manager);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_PIPELINES_H
