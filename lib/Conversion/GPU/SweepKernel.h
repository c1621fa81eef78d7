//===- SweepKernel.h - Builds the kernel of one sweep -------------------------------*- C++ -*-===//
// Threads that process a chunk together have adjacent vectors of elements. A sweep that only
// updates elements uses a block per chunk, with vectors as wide as its accesses. Any other sweep
// uses a warp per chunk, with four elements per vector. The lanes of the reduction tree of
// docs/dialect.md are then the elements of the warp's vectors, and its threads exchange values for
// every level above them. A warp processes rows in the order of the tree, and each thread has the
// same columns in all rows. A warp also processes blocks that share a scale.

#ifndef UPDRAFT_LIB_CONVERSION_GPU_SWEEPKERNEL_H
#define UPDRAFT_LIB_CONVERSION_GPU_SWEEPKERNEL_H

#include "../SweepAccess.h"
#include "GPUKernels.h"

namespace updraft {

class SweepKernel final : SweepAccess {
public:
  SweepKernel(const mlir::OpBuilder &outer, const PlanInterface &interface, SweepOp sweep,
              unsigned accessBytes);
  mlir::LogicalResult build(unsigned index);

private:
  // SweepKernel.cpp: the kernel, and the loads for a chunk.
  void describe(mlir::gpu::GPUFuncOp kernel);
  void chunkLoop(mlir::gpu::GPUFuncOp kernel);
  void chunkAt(mlir::Value number, mlir::gpu::GPUFuncOp kernel);

  // KernelElements.cpp: a sequence of elements, with 32-bit indices.
  /// Adds the elements from `number` on to this thread's lanes of the reductions, and returns the
  /// lanes. Adds a whole vector, or only the lanes in `mask`.
  using Vectors = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value number, mlir::Value mask, mlir::ValueRange carried, bool aligned)>;
  void enter(const LoopOrigin &start);
  void update(mlir::Value length, mlir::Value aligned);
  llvm::SmallVector<mlir::Value> walk(mlir::Value length, mlir::Value aligned,
                                      mlir::ValueRange carried, Vectors body);
  llvm::SmallVector<mlir::Value> compute(mlir::Value length, mlir::Value aligned,
                                         mlir::ValueRange carried);
  /// Emits `body` for aligned and for unaligned streams; only once if `aligned` is null.
  llvm::SmallVector<mlir::Value>
  eitherWay(mlir::Value aligned, mlir::TypeRange results,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(bool isAligned)> body);
  llvm::SmallVector<mlir::Value> vectorLoop(
      mlir::Value lower, mlir::Value upper, unsigned perThread, mlir::ValueRange carried,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  llvm::SmallVector<mlir::Value> remainder(mlir::Value lower, mlir::Value upper,
                                           mlir::ValueRange carried, Vectors body);
  mlir::Value lanesBelow(mlir::Value number, mlir::Value end);
  /// Computes `range`. Returns the lanes of the reductions, which were `carried` before.
  llvm::SmallVector<mlir::Value> computeAt(const ElementRange &range, mlir::ValueRange carried);
  ElementPlace placeOf(const StreamAccess &stream, mlir::Value number) override;
  BlockedStorage::Decoding decodingOf(const StreamAccess &stream, unsigned lanes) override;
  llvm::SmallVector<mlir::Value> bodyOf(mlir::ValueRange arguments,
                                        const ElementRange &range) override;
  mlir::Value identityAt(IdentityOp op, mlir::Value number, unsigned first, unsigned part);
  void addToLanes(size_t index, mlir::Value values, const ElementRange &range) override;
  mlir::Value narrow(const StreamAccess &stream, mlir::Value values) override;
  void keepForBlock(const StreamAccess &stream, mlir::Value values,
                    const ElementRange &range) override;

  // KernelBlocks.cpp: a sequence of blocks that share a scale.
  llvm::SmallVector<mlir::Value> computeBlocks(mlir::Value length, mlir::Value aligned,
                                               mlir::ValueRange carried);
  llvm::SmallVector<mlir::Value> blockLoop(mlir::Value lower, mlir::Value upper, bool whole,
                                           mlir::ValueRange carried, bool aligned);
  llvm::SmallVector<mlir::Value> computeBlock(mlir::Value start, mlir::Value end,
                                              mlir::ValueRange carried, bool aligned);
  BlockedStorage::Extremes ofWarp(const BlockedStorage::Extremes &extremes);

  // KernelRows.cpp: the rows of a block, and the rows or columns of a batch.
  void blockOfRows(mlir::Value block, mlir::Value aligned, mlir::Value partials);
  void batch(mlir::Value number);
  void resetColumnSums(mlir::Value start, mlir::Value length);

  // KernelReductions.cpp: from the lanes of a warp to results.
  llvm::SmallVector<mlir::Value> identities();
  mlir::Value exchanged(mlir::Value value, int32_t distance);
  mlir::Value totalOf(ReductionKind kind, mlir::Value lanes);
  void storePartials(mlir::ValueRange carried, mlir::Value partials);
  void storeTotals(mlir::ValueRange carried, mlir::Value index);
  /// Creates the operations of `body`, which one of the threads runs.
  void alone(llvm::function_ref<void()> body);
  /// The reductions with lanes, in order; loops carry these lanes.
  llvm::SmallVector<const ReductionAccess *> laneReductions() const;

  mlir::Value constantI32(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  bool byWarps;         ///< a warp per chunk instead of a block
  bool byQuantBlocks;   ///< a sequence consists of blocks that share a scale
  mlir::Value member;   ///< the index of this thread among those that share a chunk
  unsigned members = 0; ///< the number of those threads
  llvm::DenseMap<mlir::Value, mlir::Value> here; ///< by stream: elements of the current sequence
  llvm::DenseMap<mlir::Value, BlockedStorage::Decoding> decodings; ///< by stream, current block
  // For the current vector:
  llvm::SmallVector<mlir::Value> laneSums;    ///< by reduction; null if it has no lanes
  llvm::SmallVector<mlir::Value> codedValues; ///< f32 values to encode
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_GPU_SWEEPKERNEL_H
