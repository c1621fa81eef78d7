//===- Pipelines.h - The passes from a plan to the LLVM dialect ---------------------*- C++ -*-===//
// Functions that add the passes of a stage to a pass manager: `loops` and `llvm`, and for a GPU
// `gpu` and `nvvm`. Build a pass manager once and run it on many modules, because collecting the
// patterns costs more than one run.

#ifndef UPDRAFT_TARGET_PIPELINES_H
#define UPDRAFT_TARGET_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/CPUTarget.h"
#include "updraft/Target/GPUTarget.h"

namespace updraft {

/// Adds every dialect and every translation to LLVM IR that the pipelines and code generators need.
void registerTargetDialects(mlir::DialectRegistry &registry);

/// Lowers `updraft.plan` to functions with loops over vectors of `target`'s width.
void buildLoopsPipeline(mlir::OpPassManager &manager, const CPUTarget &target);

/// Lowers those functions to the LLVM dialect.
void buildLLVMDialectPipeline(mlir::OpPassManager &manager);

/// Lowers `updraft.plan` to kernels in the GPU dialect and functions for the host.
void buildKernelsPipeline(mlir::OpPassManager &manager, const GPUTarget &target);

/// Lowers those kernels to the NVVM and LLVM dialects. Host functions don't change.
void buildNVVMPipeline(mlir::OpPassManager &manager);

/// Lowers kernels to host functions that emulate them.
void buildEmulatorPipeline(mlir::OpPassManager &manager);

} // namespace updraft

#endif // UPDRAFT_TARGET_PIPELINES_H
