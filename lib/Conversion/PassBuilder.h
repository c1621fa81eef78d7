//===- PassBuilder.h - Makes the function of one pass -------------------------------*- C++ -*-===//
// From the outside in: tensors; leaves of a flat sequence, or blocks of rows; elements. Vectors are
// explicit, so no later analysis decides about them. An iteration loads all that it reads before it
// stores, so streams may be the same tensor.

#ifndef UPDRAFT_LIB_CONVERSION_PASSBUILDER_H
#define UPDRAFT_LIB_CONVERSION_PASSBUILDER_H

#include "Accumulators.h"
#include "KernelFunctions.h"
#include "PassAccess.h"

namespace updraft {

/// What a block of a stream needs: values of the block at hand, and memory of the function.
struct BlockAccess {
  // Reading.
  BlockedStorage::Decoding scalar = {}, vector = {};
  // Writing: next values of two blocks as f32, and memory of the extremes of the block at hand, in
  // vectors and in single elements.
  mlir::Value values;
  BlockedStorage::Extremes extremes, scalarExtremes;
  mlir::Value roots; ///< of the values, if the rule has them; else null
  // The memory of the block at hand, less the number of its first element.
  mlir::Value valuesHere, rootsHere;
  // The extremes so far, while a loop carries them. Where there are roots, values have no sign, and
  // the first is null.
  BlockedStorage::Extremes carried;
};

class PassBuilder : PassAccess {
public:
  PassBuilder(const mlir::OpBuilder &outer, const PlanInterface &interface, PassOp pass,
              LoopShape shape);
  mlir::LogicalResult build(unsigned index);

private:
  // PassLoops.cpp: what is around a sequence of elements.
  void tensorLoop(mlir::ValueRange arguments);
  void rangeLoop(mlir::Value lower, mlir::Value upper, const LoopOrigin &origin);
  mlir::Value leafLoop(mlir::Value begin, mlir::Value end, mlir::Value partials);
  mlir::Value blockLoop(mlir::Value begin, mlir::Value end, mlir::Value partials);
  void batchLoop(mlir::Value begin, mlir::Value end);
  void rowLoop(mlir::Value batch, mlir::Value firstRow, mlir::Value block);
  void resetColumnSums(mlir::Value start);
  void storeTotals(mlir::Value index);
  mlir::Value storePartials(mlir::Value partials);

  // PassBlocks.cpp: blocks of elements that share a scale.
  void makeBlockMemory();
  void quantBlockLoop(mlir::Value lower, mlir::Value upper, const LoopOrigin &origin);
  bool hasRoots(const StreamAccess &stream);
  void startBlock(mlir::Value block, mlir::Value start);
  void keepBlockValues(const StreamAccess &stream, mlir::Value values, mlir::Value number);
  /// Where a block lies, in the loop that goes from block `first` to `upper`; `full` is its end if
  /// it is whole, and `number` that of its scale.
  struct BlockBounds {
    mlir::Value first, start, end, full, upper, number;
  };
  llvm::SmallVector<BlockedStorage::Encoding> encodingsIn(mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> computeBlock(const BlockBounds &bounds,
                                              llvm::ArrayRef<BlockedStorage::Encoding> before,
                                              const LoopOrigin &origin);
  llvm::SmallVector<BlockedStorage::Encoding>
  computeAnyBlock(const BlockBounds &bounds, llvm::ArrayRef<BlockedStorage::Encoding> before,
                  const LoopOrigin &origin);
  llvm::SmallVector<BlockedStorage::Encoding>
  computeWholeBlock(const BlockBounds &bounds, llvm::ArrayRef<BlockedStorage::Encoding> before,
                    const LoopOrigin &origin);
  mlir::Value canComputeWhole(const BlockBounds &bounds,
                              llvm::ArrayRef<BlockedStorage::Encoding> before);
  void storeCodes(llvm::ArrayRef<BlockedStorage::Encoding> encodings, mlir::Value lower,
                  mlir::Value upper, const LoopOrigin &origin);
  /// A block that is coded: of its values or of their roots, from memory and to codes that a number
  /// of the loop is an index into.
  struct CodedBlock {
    const StreamAccess *stream;
    bool ofRoots;
    BlockedStorage::Encoding scalar, vector;
    mlir::Value kept = {}, codes = {};
  };
  CodedBlock codedBlock(const StreamAccess &stream, const BlockedStorage::Encoding &encoding,
                        bool ofRoots, mlir::Value start, mlir::Value first);
  mlir::Value keptFrom(mlir::Value memory, mlir::Value start, mlir::Value first);
  mlir::Value loadKept(const CodedBlock &block, mlir::Value number, unsigned lanes);
  void storeCodesAt(const CodedBlock &block, mlir::Value kept, mlir::Value number, mlir::Value mask,
                    const LoopOrigin &origin);
  void storeOrdinaryCodesAt(llvm::ArrayRef<CodedBlock> coded, llvm::ArrayRef<mlir::Value> numbers,
                            mlir::Value number, const LoopOrigin &origin);

  // PassExtremes.cpp: the extremes of a block of values.
  void storeExtremes(const BlockedStorage::Extremes &extremes,
                     const BlockedStorage::Extremes &memory);
  BlockedStorage::Extremes loadExtremes(const BlockedStorage::Extremes &memory, mlir::Type type);
  BlockedStorage::Extremes findExtremes(const StreamAccess &stream, mlir::Value lower,
                                        mlir::Value upper);
  BlockedStorage::Extremes extremesWithRoots(const StreamAccess &stream,
                                             const BlockedStorage::Extremes &found,
                                             const BlockBounds &bounds);

  // PassElements.cpp: the sequence of elements.
  /// Makes the operations for the elements from a number on: for a vector of them, or those of its
  /// lanes that the mask has, or for one element, which is `lanes` 1.
  using Elements = llvm::function_ref<void(mlir::Value number, unsigned lanes, mlir::Value mask)>;
  void elementLoop(mlir::Value lower, mlir::Value upper, const LoopOrigin &origin);
  void forElements(mlir::Value lower, mlir::Value upper, unsigned perVector, Elements body);
  void elementsIn(mlir::Value lower, mlir::Value upper, mlir::Value step, unsigned lanes,
                  Elements body);
  void maskedRemainder(mlir::Value start, mlir::Value count, unsigned lanes, Elements body);
  void computeAt(mlir::Value number, const LoopOrigin &origin, unsigned lanes, mlir::Value mask);
  void computePairsAt(mlir::Value number, mlir::Value mask);
  mlir::Value loadOperand(const StreamAccess &stream, mlir::Type type, mlir::Value number,
                          const LoopOrigin &origin, unsigned lanes, mlir::Value mask);
  void storeResults(mlir::ValueRange values, mlir::Value number, const LoopOrigin &origin,
                    mlir::Value mask);
  void reduceAt(mlir::ValueRange values, mlir::Value number, const LoopOrigin &origin,
                mlir::Value mask);

  bool maskRemainder;             ///< by masked accesses, else one at a time
  bool pairs = false;             ///< vectors hold the elements of even number, and those of odd
  unsigned elementsPerVector = 1; ///< in one iteration of the vector loop

  llvm::DenseMap<mlir::Value, BlockAccess> blocks; ///< by stream
  /// Of each reduction, but for those that have none.
  llvm::SmallVector<std::optional<LaneAccumulator>> lanes;
  mlir::Value laneGroups; ///< that the leaf at hand, or a row, has values for
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_PASSBUILDER_H
