//===- GPUKernels.h - The kernels of a plan on a GPU --------------------------------*- C++ -*-===//
// Builders of what updraft-c/gpu_kernel.h names, one call each. They are created at the builder's
// insertion point, in a `gpu.module`.

#ifndef UPDRAFT_LIB_CONVERSION_GPU_GPUKERNELS_H
#define UPDRAFT_LIB_CONVERSION_GPU_GPUKERNELS_H

#include "../PlanInterface.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"

namespace updraft {

/// Makes a kernel of the plan, with arguments of those names and types, and goes to its start.
mlir::gpu::GPUFuncOp startKernel(mlir::OpBuilder &builder, const PlanInterface &interface,
                                 const llvm::Twine &suffix,
                                 llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Type>> arguments);

/// What a pass was made with, for those who launch it: the bytes of a value of each stream and what
/// has one (upd_gpu_extent), the bytes of a row, how many partial results a chunk has, and what the
/// pass goes through (upd_gpu_loop).
constexpr llvm::StringLiteral streamBytesAttr = "updraft.stream_bytes";
constexpr llvm::StringLiteral streamExtentsAttr = "updraft.stream_extents";
constexpr llvm::StringLiteral loopAttr = "updraft.loop";
constexpr llvm::StringLiteral rowBytesAttr = "updraft.row_bytes";
constexpr llvm::StringLiteral partialCountAttr = "updraft.partial_count";
/// Of a prologue, the bytes of the flag that its row begins with.
constexpr llvm::StringLiteral flagBytesAttr = "updraft.flag_bytes";

/// A pointer to the device's memory.
mlir::Type globalPointer(mlir::MLIRContext *context);

/// The number of a thread in its block, of the block, and how many blocks there are, as i64.
struct ThreadPlace {
  mlir::Value thread, block, blocks;
  static ThreadPlace of(mlir::OpBuilder &builder, mlir::Location loc);
};

/// R_prologue`index`; `prologue` is null for a plan that has none.
void buildPrologueKernel(mlir::OpBuilder &builder, const PlanInterface &interface,
                         PrologueOp prologue, unsigned index);

/// R_pass`index`. `accessBytes`: the widest load or store of a thread.
mlir::LogicalResult buildPassKernel(mlir::OpBuilder &builder, const PlanInterface &interface,
                                    PassOp pass, unsigned index, unsigned accessBytes);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_GPU_GPUKERNELS_H
