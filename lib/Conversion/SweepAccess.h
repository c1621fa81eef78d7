//===- SweepAccess.h - Access to the kernel's arguments from a sweep ----------------*- C++ -*-===//
// The part of a sweep that is the same on every target: the values of a row, the streams and
// properties of a tensor, and the body on vectors of elements.

#ifndef UPDRAFT_LIB_CONVERSION_SWEEPACCESS_H
#define UPDRAFT_LIB_CONVERSION_SWEEPACCESS_H

#include "Accumulators.h"
#include "BlockedStorage.h"
#include "Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "updraft/Conversion/PlanInterface.h"
#include "updraft/Conversion/StorageConversion.h"

namespace updraft {

/// A stream of the sweep: its format, and its elements in the current tensor.
struct StreamAccess {
  mlir::Value stream;               ///< of the plan
  const StorageConversion *storage; ///< of each element; null for blocks
  std::optional<BlockedStorage> blocks = {};
  mlir::Value elements = {}; ///< values or codes
  mlir::Value scales = {};   ///< of blocks

  Extent over() const { return mlir::cast<StreamType>(stream.getType()).getOver(); }
  mlir::Type memoryType() const {
    mlir::MLIRContext *context = stream.getContext();
    return storage ? storage->memoryType(context) : mlir::IntegerType::get(context, 8);
  }
};

/// A value that many elements share, as a scalar and as a vector.
struct Uniform {
  mlir::Value scalar, vector;
};

/// A reduction of a sweep. Reductions over rows, columns or batches have a stream for their
/// results. Column reductions accumulate in that stream, all others in lanes.
struct ReductionAccess {
  ReductionAttr reduction;
  std::optional<StreamAccess> stream;

  bool isPartial() const { return !stream; }
  bool hasLanes() const { return reduction.getOver() != Extent::column; }
};

/// Where a sequence of elements starts: offsets to add to the numbers of its elements. Null means
/// 0.
struct LoopOrigin {
  mlir::Value element; ///< in streams with the extent of the sweep
  mlir::Value column;  ///< in streams over columns
  mlir::Value sum;     ///< in the sums of columns
  mlir::Value scale;   ///< in the scales of blocks
  mlir::Value row;     ///< the row of a batch, if the sequence is one
};

/// Consecutive elements of a sequence that are computed together.
struct ElementRange {
  mlir::Value number; ///< of the first one
  unsigned lanes = 1;
  mlir::Value mask = {};  ///< the lanes to compute; null for all
  bool isAligned = false; ///< streams are aligned to the widest access
};

/// The properties of a target that affect its accesses.
struct AccessShape {
  unsigned vectorLanes;     ///< elements in a vector of the compute type
  unsigned space = 0;       ///< the address space of streams
  unsigned accessBytes = 0; ///< the widest access of aligned streams
};

class SweepAccess {
protected:
  SweepAccess(const mlir::OpBuilder &outer, const PlanInterface &interface, SweepOp sweep,
              AccessShape shape);
  virtual ~SweepAccess() = default;

  /// Finds the streams and reductions of the sweep.
  void findStreams();
  llvm::SmallVector<StreamAccess *> allStreams();
  /// Loads the scalars from the kernel's `row`.
  void loadScalars(mlir::Value row);
  /// Finds the elements of the current tensor's streams from `pointers`, its entries in the
  /// kernel's `streams`. A stream that is both read and written has the same elements.
  void locateStreams(mlir::Value pointers);
  /// Loads the fields that the sweep uses from entry `number` of the kernel's `sites`.
  void loadSite(mlir::Value sites, mlir::Value number);
  /// Loads the values of row or batch `index` from the streams over rows or batches.
  void loadUniforms(Extent over, mlir::Value index);
  llvm::SmallVector<mlir::Value> uniformArguments(unsigned lanes) const;
  mlir::Value randomBits(RandomOp op, mlir::Value index, unsigned lanes);

  // ElementCode.cpp: the code for elements of the current sequence, which starts at `origin`.
  /// Reads the streams of `range`, computes the body, and accumulates and stores its results.
  void computeElements(const ElementRange &range);
  bool isOfSequence(const StreamAccess &stream);
  mlir::Value originOf(const StreamAccess &stream);
  mlir::Value read(mlir::Location loc, const ElementPlace &place, mlir::Type element,
                   const ElementRange &range);
  void write(mlir::Location at, mlir::Value values, const ElementPlace &place,
             const ElementRange &range);
  unsigned alignmentOf(mlir::Type type, const ElementRange &range) const;
  mlir::Value readOperand(const StreamAccess &stream, mlir::Type type, const ElementRange &range);
  virtual ElementPlace placeOf(const StreamAccess &stream, mlir::Value number) = 0;
  virtual BlockedStorage::Decoding decodingOf(const StreamAccess &stream, unsigned lanes) = 0;
  /// Computes the body, and returns the operands of its `updraft.store`.
  virtual llvm::SmallVector<mlir::Value> bodyOf(mlir::ValueRange arguments,
                                                const ElementRange &range) = 0;
  /// Adds `values` to the lanes of reduction `index`.
  virtual void addToLanes(size_t index, mlir::Value values, const ElementRange &range) = 0;
  virtual mlir::Value narrow(const StreamAccess &stream, mlir::Value values) = 0;
  /// Returns the place in the rule's text that stores to a stream.
  mlir::Location writeLocation(const StreamAccess &stream);
  mlir::Location reductionLocation(size_t index);
  /// Keeps `values` until the scale of their block is known.
  virtual void keepForBlock(const StreamAccess &stream, mlir::Value values,
                            const ElementRange &range) = 0;

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
  ElementsType elementsOf(mlir::Type element) const { return ElementsType::get(element, space); }

  // SweepAccessBlocks.cpp: blocks of elements that share a scale.
  llvm::SmallVector<const StreamAccess *> codedWrites() const;
  /// Returns the number of blocks in `count` elements.
  mlir::Value quantBlocksIn(mlir::Value count);
  BlockedStorage::Decoding loadDecoding(const StreamAccess &stream, mlir::Value block);
  BlockedStorage::Decoding splat(const BlockedStorage::Decoding &decoding);
  /// Splats the parts of the encoding that vectors of values need.
  BlockedStorage::Encoding splat(BlockedStorage::Encoding encoding);
  BlockedStorage::Extremes noExtremes(unsigned lanes);
  /// Adds the bits of further values to the extremes. Lanes without a value have all bits 0 in
  /// `low` and 1 in `high`.
  BlockedStorage::Extremes withBits(BlockedStorage::Extremes extremes, mlir::Value low,
                                    mlir::Value high);
  BlockedStorage::Extremes withBits(BlockedStorage::Extremes extremes, mlir::Value bits,
                                    mlir::Value mask, unsigned lanes);
  /// Reduces vectors to scalars; vectors may be null.
  BlockedStorage::Extremes reduced(BlockedStorage::Extremes extremes);

  mlir::OpBuilder builder;
  const PlanInterface &interface;
  SweepOp sweep;
  mlir::Location loc;
  unsigned vectorLanes, space, accessBytes; ///< as in AccessShape
  mlir::Type i64;
  bool byRows;    ///< over blocks of rows instead of a flat sequence
  bool byBatches; ///< over batches, then over the rows or columns of each
  llvm::SmallVector<StreamAccess> reads, writes; ///< temporaries are the last writes
  llvm::SmallVector<ReductionAccess> reductions;
  llvm::SmallVector<Uniform> scalars;
  llvm::DenseMap<mlir::Value, Uniform> uniforms; ///< by stream, in the current row or batch
  RandomSite site;                               ///< of the current tensor
  mlir::Value rows, columns;                     ///< of the current tensor
  LoopOrigin origin;                             ///< of the current sequence
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_SWEEPACCESS_H
