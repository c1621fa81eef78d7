//===- PassAccess.h - How a pass reaches the kernel's arguments ---------------------*- C++ -*-===//
// What the functions of a pass have in common on every target: the values of a row, the streams and
// the facts of a tensor, and the body on vectors of elements.

#ifndef UPDRAFT_LIB_CONVERSION_PASSACCESS_H
#define UPDRAFT_LIB_CONVERSION_PASSACCESS_H

#include "BlockedStorage.h"
#include "Philox.h"
#include "PlanInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "updraft/Conversion/StorageConversion.h"

namespace updraft {

/// A stream of the pass: what is in it, and where it starts.
struct StreamAccess {
  mlir::Value stream;               ///< of the plan
  const StorageConversion *storage; ///< of each element, or null
  std::optional<BlockedStorage> blocks = {};
  mlir::Value base = {};   ///< the address of its first value or code, in the tensor at hand
  mlir::Value scales = {}; ///< of the first block's scale

  Extent over() const { return mlir::cast<StreamType>(stream.getType()).getOver(); }
};

/// A value that is the same for many elements, and as a vector of them.
struct Uniform {
  mlir::Value scalar, vector;
};

/// A reduction of a pass. One over rows, columns or batches has a stream for its results; that of a
/// column is summed up there, any other in lanes.
struct ReductionAccess {
  ReductionAttr reduction;
  std::optional<StreamAccess> stream;

  bool isPartial() const { return !stream; }
  bool hasLanes() const { return reduction.getOver() != Extent::column; }
};

/// Where the loop over elements stands: what to add to its number. Null is 0.
struct LoopOrigin {
  mlir::Value element; ///< in streams that have the extent of the pass
  mlir::Value column;  ///< in streams over columns
  mlir::Value sum;     ///< in the sums of columns
  mlir::Value scale;   ///< in the scales of blocks
};

class PassAccess {
protected:
  PassAccess(const mlir::OpBuilder &outer, const PlanInterface &interface, PassOp pass,
             unsigned vectorLanes);

  /// Finds what the pass reads, writes and reduces. Reports a stream of a type that no target
  /// stores.
  mlir::LogicalResult findStreams();
  llvm::SmallVector<StreamAccess *> allStreams();
  /// The kernel's `row`.
  void loadScalars(mlir::Value row);
  /// `pointers`: the entries of the tensor at hand in the kernel's `streams`. Each address is
  /// loaded once, though a stream may be read and written.
  void loadBases(mlir::Value pointers);
  /// What the pass uses of entry `number` of the kernel's `sites`.
  void loadSite(mlir::Value sites, mlir::Value number);
  /// The values of one row or batch, in the streams over these.
  void loadUniforms(Extent over, mlir::Value index);
  llvm::SmallVector<mlir::Value> uniformArguments(unsigned lanes) const;
  mlir::Value randomBits(RandomOp op, mlir::Value index, unsigned lanes);

  mlir::Value constantI64(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  mlir::Value add(mlir::Value origin, mlir::Value number) {
    return origin ? mlir::arith::AddIOp::create(builder, loc, origin, number).getResult() : number;
  }
  mlir::Value multiply(mlir::Value left, mlir::Value right) {
    return mlir::arith::MulIOp::create(builder, loc, left, right);
  }
  mlir::Value splat(mlir::Value scalar, unsigned lanes);
  mlir::Value addressOf(const StreamAccess &stream, mlir::Value index);

  // PassAccessBlocks.cpp: blocks of elements that share a scale.
  llvm::SmallVector<const StreamAccess *> codedWrites() const;
  /// How many blocks `count` elements have.
  mlir::Value quantBlocksIn(mlir::Value count);
  mlir::Value scaleAddress(const StreamAccess &stream, mlir::Value block);
  BlockedStorage::Decoding decodingOf(const StreamAccess &stream, mlir::Value block);
  BlockedStorage::Decoding splat(const BlockedStorage::Decoding &decoding);
  /// What is needed of it for vectors of values.
  BlockedStorage::Encoding splat(BlockedStorage::Encoding encoding);
  BlockedStorage::Extremes noExtremes(unsigned lanes);
  /// With the bits of further values, two vectors that differ where there is none: 0, or all bits.
  BlockedStorage::Extremes withBits(BlockedStorage::Extremes extremes, mlir::Value low,
                                    mlir::Value high);
  BlockedStorage::Extremes withBits(BlockedStorage::Extremes extremes, mlir::Value bits,
                                    mlir::Value mask, unsigned lanes);
  /// Of vectors that may lack one.
  BlockedStorage::Extremes reduced(BlockedStorage::Extremes extremes);

  mlir::OpBuilder builder;
  const PlanInterface &interface;
  PassOp pass;
  mlir::Location loc;
  unsigned vectorLanes; ///< elements in a vector of the compute type
  mlir::Type i64;
  bool byRows;    ///< over blocks of rows, not over a flat sequence
  bool byBatches; ///< over batches, and over the rows or columns of each
  llvm::SmallVector<StreamAccess> reads, writes; ///< temporaries that it makes are written last
  llvm::SmallVector<ReductionAccess> reductions;
  llvm::SmallVector<Uniform> scalars;
  llvm::DenseMap<mlir::Value, Uniform> uniforms; ///< by stream, in the row or batch at hand
  RandomSite site;                               ///< of the tensor at hand
  mlir::Value rows, columns;                     ///< of the tensor at hand

private:
  mlir::FailureOr<StreamAccess> findStream(mlir::Value stream);
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_PASSACCESS_H
