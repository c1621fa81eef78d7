//===- SweepBuilder.h - Builds the function of one sweep ----------------------------*- C++ -*-===//
// Builds loops from the outside in: tensors; leaves of a flat sequence, or blocks of rows;
// elements. Vectors are explicit, so they don't depend on later analyses. An iteration finishes its
// loads before its stores, so streams may be the same tensor.

#ifndef UPDRAFT_LIB_CONVERSION_SWEEPBUILDER_H
#define UPDRAFT_LIB_CONVERSION_SWEEPBUILDER_H

#include "Accumulators.h"
#include "KernelFunctions.h"
#include "SweepAccess.h"

namespace updraft {

/// The data for a block of a stream: values of the current block, and memory of the function.
struct BlockAccess {
  // For reading.
  BlockedStorage::Decoding scalar = {}, vector = {};
  // For writing: memory for the next values of two blocks as f32, and for the extremes of the
  // current block, in vectors and in single elements.
  mlir::Value values;
  BlockedStorage::Extremes extremes, scalarExtremes;
  mlir::Value roots; ///< of the values, if the rule computes them; else null
  // The same with the numbers that the elements of the current block have.
  mlir::Value valuesHere, rootsHere;
  // The extremes so far, while a loop carries them. With roots, values have no sign, and the first
  // is null.
  BlockedStorage::Extremes carried;
};

class SweepBuilder final : SweepAccess {
public:
  SweepBuilder(const mlir::OpBuilder &outer, const PlanInterface &interface, SweepOp sweep,
               LoopShape shape);
  mlir::LogicalResult build(unsigned index);

private:
  // SweepLoops.cpp: the loops around a sequence of elements.
  void tensorLoop(mlir::ValueRange arguments);
  void rangeLoop(mlir::Value lower, mlir::Value upper);
  mlir::Value leafLoop(mlir::Value begin, mlir::Value end, mlir::Value partials);
  mlir::Value blockLoop(mlir::Value begin, mlir::Value end, mlir::Value partials);
  void batchLoop(mlir::Value begin, mlir::Value end);
  void rowLoop(mlir::Value batch, mlir::Value firstRow, mlir::Value block);
  void resetColumnSums(mlir::Value start);
  void storeTotals(mlir::Value index);
  mlir::Value storePartials(mlir::Value partials);

  // SweepBlocks.cpp: blocks of elements that share a scale.
  void makeBlockMemory();
  void quantBlockLoop(mlir::Value lower, mlir::Value upper);
  bool hasRoots(const StreamAccess &stream);
  void startBlock(mlir::Value block, mlir::Value start);
  void keepForBlock(const StreamAccess &stream, mlir::Value values,
                    const ElementRange &range) override;
  /// The position of a block in a loop from block `first` to `upper`. `full` is the end of a whole
  /// block, and `number` the index of its scale.
  struct BlockBounds {
    mlir::Value first, start, end, full, upper, number;
  };
  llvm::SmallVector<BlockedStorage::Encoding> encodingsIn(mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> computeBlock(const BlockBounds &bounds,
                                              llvm::ArrayRef<BlockedStorage::Encoding> before);
  llvm::SmallVector<BlockedStorage::Encoding>
  computeAnyBlock(const BlockBounds &bounds, llvm::ArrayRef<BlockedStorage::Encoding> before);
  llvm::SmallVector<BlockedStorage::Encoding>
  computeWholeBlock(const BlockBounds &bounds, llvm::ArrayRef<BlockedStorage::Encoding> before);
  mlir::Value canComputeWhole(const BlockBounds &bounds,
                              llvm::ArrayRef<BlockedStorage::Encoding> before);
  void storeCodes(llvm::ArrayRef<BlockedStorage::Encoding> encodings, mlir::Value lower,
                  mlir::Value upper);
  /// A block to encode, from its values or their roots. The loop numbers `kept` and `codes`.
  struct CodedBlock {
    const StreamAccess *stream;
    bool ofRoots;
    BlockedStorage::Encoding scalar, vector;
    mlir::Value kept = {}, codes = {};
  };
  CodedBlock codedBlock(const StreamAccess &stream, const BlockedStorage::Encoding &encoding,
                        bool ofRoots, mlir::Value start, mlir::Value first);
  mlir::Value keptFrom(mlir::Value memory, mlir::Value start, mlir::Value first);
  mlir::Value readKept(const CodedBlock &block, mlir::Value number, unsigned lanes);
  void storeCodesAt(const CodedBlock &block, mlir::Value kept, mlir::Value number,
                    mlir::Value mask);
  void storeOrdinaryCodesAt(llvm::ArrayRef<CodedBlock> coded, llvm::ArrayRef<mlir::Value> numbers,
                            mlir::Value number);

  // SweepExtremes.cpp: the extremes of a block of values.
  void storeExtremes(const BlockedStorage::Extremes &extremes,
                     const BlockedStorage::Extremes &memory);
  BlockedStorage::Extremes loadExtremes(const BlockedStorage::Extremes &memory, mlir::Type type);
  BlockedStorage::Extremes findExtremes(const StreamAccess &stream, mlir::Value lower,
                                        mlir::Value upper);
  BlockedStorage::Extremes extremesWithRoots(const StreamAccess &stream,
                                             const BlockedStorage::Extremes &found,
                                             const BlockBounds &bounds);

  // SweepElements.cpp: the sequence of elements.
  /// Creates the operations for the elements from `number` on: for a whole vector, for the lanes in
  /// `mask`, or for one element if `lanes` is 1.
  using Elements = llvm::function_ref<void(mlir::Value number, unsigned lanes, mlir::Value mask)>;
  void elementLoop(mlir::Value lower, mlir::Value upper);
  void forElements(mlir::Value lower, mlir::Value upper, unsigned perVector, Elements body);
  void elementsIn(mlir::Value lower, mlir::Value upper, mlir::Value step, unsigned lanes,
                  Elements body);
  void maskedRemainder(mlir::Value start, mlir::Value count, unsigned lanes, Elements body);
  void computePairs(mlir::Value number, mlir::Value mask);
  ElementPlace placeOf(const StreamAccess &stream, mlir::Value number) override;
  BlockedStorage::Decoding decodingOf(const StreamAccess &stream, unsigned lanes) override;
  llvm::SmallVector<mlir::Value> bodyOf(mlir::ValueRange arguments,
                                        const ElementRange &range) override;
  mlir::Value identityAt(IdentityOp op, const ElementRange &range);
  void addToLanes(size_t index, mlir::Value values, const ElementRange &range) override;
  mlir::Value narrow(const StreamAccess &stream, mlir::Value values) override;

  bool maskRemainder;             ///< with masked accesses instead of one at a time
  bool pairs = false;             ///< separate vectors for even and odd elements
  unsigned elementsPerVector = 1; ///< in one iteration of the vector loop

  llvm::DenseMap<mlir::Value, BlockAccess> blocks; ///< by stream
  /// By reduction; empty for reductions without lanes.
  llvm::SmallVector<std::optional<LaneAccumulator>> lanes;
  mlir::Value fewLanes; ///< whether the current leaf or row uses only the first few lanes
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_SWEEPBUILDER_H
