//===- Pipelines.h - The passes from a plan to the LLVM dialect ---------------------*- C++ -*-===//
// The stages `loops` and `llvm` of a CPU, and `gpu` and `nvvm` of a GPU, as functions that add
// their passes to a pass manager. The compiler and updraft-opt use these definitions alike. Build a
// pass manager once and run it on many modules: collecting the patterns costs more than one run.

#ifndef UPDRAFT_TARGET_PIPELINES_H
#define UPDRAFT_TARGET_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Conversion/Product.h"
#include "updraft/Target/CPUTarget.h"
#include "updraft/Target/GPUTarget.h"

namespace updraft {

/// Adds every dialect, and every translation to LLVM IR, that the pipelines and generators of
/// code need.
void registerTargetDialects(mlir::DialectRegistry &registry);

/// From `updraft.plan` to functions with loops over vectors of `target`'s width.
void buildLoopsPipeline(mlir::OpPassManager &manager, const CPUTarget &target);

/// Returns the properties of `target` that affect the loops of a matrix product.
ProductTarget productTargetOf(const CPUTarget &target);

/// From those functions to the LLVM dialect.
void buildLLVMDialectPipeline(mlir::OpPassManager &manager);

/// From `updraft.plan` to kernels in the GPU dialect. Functions on scalars stay on the host.
void buildKernelsPipeline(mlir::OpPassManager &manager, const GPUTarget &target);

/// From those kernels to the NVVM and LLVM dialects. Leaves the host's functions alone.
void buildNVVMPipeline(mlir::OpPassManager &manager);

/// From kernels to functions of the host that emulate them.
void buildEmulatorPipeline(mlir::OpPassManager &manager);

/// Registers these for command lines as `updraft-loops-pipeline`, `updraft-llvm-pipeline`,
/// `updraft-kernels-pipeline`, `updraft-nvvm-pipeline` and `updraft-emulator-pipeline`. The first
/// and the third have an option `target`, the name of a CPU or GPU.
void registerTargetPipelines();

} // namespace updraft

#endif // UPDRAFT_TARGET_PIPELINES_H
