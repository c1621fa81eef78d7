//===- Pipelines.h - The passes from a plan to the LLVM dialect ---------------------*- C++ -*-===//
// The stages `loops` and `llvm`, as functions that add their passes to a pass manager. Build a pass
// manager once and run it on many modules: collecting the patterns costs more than one run.

#ifndef UPDRAFT_TARGET_PIPELINES_H
#define UPDRAFT_TARGET_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/CPUTarget.h"

namespace updraft {

/// Adds every dialect, and every translation to LLVM IR, that the two pipelines and `CodeGenerator`
/// need.
void registerTargetDialects(mlir::DialectRegistry &registry);

/// From `updraft.plan` to functions with loops over vectors of `target`'s width.
void buildLoopsPipeline(mlir::OpPassManager &manager, const CPUTarget &target);

/// From those functions to the LLVM dialect.
void buildLLVMDialectPipeline(mlir::OpPassManager &manager);

} // namespace updraft

#endif // UPDRAFT_TARGET_PIPELINES_H
