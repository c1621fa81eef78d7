//===- GPUKernels.h - The kernels of a plan on a GPU --------------------------------*- C++ -*-===//
// Each function builds one kernel of updraft-c/gpu_kernel.h at the builder's insertion point, in a
// `gpu.module`.

#ifndef UPDRAFT_LIB_CONVERSION_GPU_GPUKERNELS_H
#define UPDRAFT_LIB_CONVERSION_GPU_GPUKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "updraft/Conversion/PlanInterface.h"

namespace updraft {

/// Creates a kernel of the plan with these argument names and types, and moves to its start.
mlir::gpu::GPUFuncOp startKernel(mlir::OpBuilder &builder, const PlanInterface &interface,
                                 const llvm::Twine &suffix,
                                 llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Type>> arguments);

/// Describe a sweep for the code that launches it: for each stream the bytes of a value, or 0 if
/// the sweep doesn't access it, and its extent (upd_gpu_extent), the kind of loop (upd_gpu_loop),
/// the bytes of a row, and the number of partial results per chunk.
constexpr llvm::StringLiteral streamBytesAttr = "updraft.stream_bytes";
constexpr llvm::StringLiteral streamExtentsAttr = "updraft.stream_extents";
constexpr llvm::StringLiteral loopAttr = "updraft.loop";
constexpr llvm::StringLiteral rowBytesAttr = "updraft.row_bytes";
constexpr llvm::StringLiteral partialCountAttr = "updraft.partial_count";
/// On a prologue: the size in bytes of the flag at the start of its row.
constexpr llvm::StringLiteral flagBytesAttr = "updraft.flag_bytes";

/// The address space of the device's memory in NVPTX.
constexpr unsigned globalMemory = 1;

/// The type of a pointer to the device's memory.
mlir::Type globalPointer(mlir::MLIRContext *context);

/// The index of the thread in its block, the index of the block, and the number of blocks, as i64.
struct ThreadPlace {
  mlir::Value thread, block, blocks;
  static ThreadPlace of(mlir::OpBuilder &builder, mlir::Location loc);
};

/// R_prologue`index`; `prologue` is null if the plan has none.
void buildPrologueKernel(mlir::OpBuilder &builder, const PlanInterface &interface,
                         PrologueOp prologue, unsigned index);

/// R_sweep`index`. `accessBytes` is the size of a thread's widest load or store.
mlir::LogicalResult buildSweepKernel(mlir::OpBuilder &builder, const PlanInterface &interface,
                                     SweepOp sweep, unsigned index, unsigned accessBytes);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_GPU_GPUKERNELS_H
