//===- LoopHalves.h - The operations of a loop over vectors, by halves --------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CONVERSION_LOOPHALVES_H
#define UPDRAFT_LIB_CONVERSION_LOOPHALVES_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace updraft {

/// A loop over vectors whose iterations can be cut in two. Call the following in this order, each
/// only if the previous one returned true.
class LoopHalves {
public:
  LoopHalves(mlir::scf::ForOp loop, unsigned vectorBits)
      : loop(loop), body(*loop.getBody()), vectorBits(vectorBits) {}

  /// Whether all iterations are whole, and each has its own elements, which it reads before it
  /// writes any. Sums in scratch memory are not among these.
  bool isIndependent();
  /// Whether the units wait for the chain of an iteration if `window` vectors are in flight.
  bool waits(unsigned window);
  /// Whether the number of iterations is constant and small. The second halves can then be a
  /// separate loop, which reads crossing values and streams from memory.
  bool isCounted();
  /// Chooses the second half. Returns false if more than `limit` vectors would cross into it.
  bool cut(unsigned limit);

  mlir::scf::ForOp getLoop() const { return loop; }
  /// The number of elements in an iteration.
  int64_t getStep() const { return step; }
  /// The number of elements in the loop, if it is counted.
  std::optional<int64_t> getCount() const { return count; }

  /// Whether each half recomputes the value: constants and numbers.
  static bool isRemade(mlir::Operation &op);
  bool isSecond(mlir::Operation &op) const { return second.contains(&op); }
  /// Whether the operation reads, combines or writes a sum in scratch memory. One half does all.
  bool isOfSum(mlir::Operation &op) const { return sums.contains(&op); }
  /// The values that the first half computes for the second.
  llvm::ArrayRef<mlir::Value> getCarried() const { return carried.getArrayRef(); }
  /// Returns the operation by which the first half writes a value to scratch memory, or null.
  WriteOp keptBy(mlir::Value value) const;

private:
  bool hasWholeIterations();
  bool findCombinations();
  void findSums();
  bool combinesEarly() const;
  template <typename Access> bool isOwnElement(Access access);
  bool rereadsScratch();
  unsigned registersOf(mlir::Operation &op) const;
  void cutAt(unsigned cycle);
  bool isAgain(mlir::Operation &op) const;
  void moveToSecond(unsigned cycle);
  void findCarried();

  mlir::scf::ForOp loop;
  mlir::Block &body;
  unsigned vectorBits;
  int64_t step = 0;
  llvm::DenseMap<mlir::Value, mlir::Value> origins; ///< by elements
  std::optional<int64_t> count;
  llvm::DenseMap<mlir::Operation *, unsigned> start; ///< the earliest cycle in which it can begin
  llvm::DenseMap<mlir::Operation *, unsigned> rest;  ///< cycles from its start to the last end
  unsigned latency = 0;                              ///< of an iteration
  llvm::DenseSet<mlir::Operation *> second;
  llvm::DenseSet<mlir::Operation *> combinations; ///< their results are the carried values
  /// Maps each operation that reads, combines or writes a sum in scratch memory to the one that
  /// combines.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> sums;
  llvm::SetVector<mlir::Value> carried;
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_LOOPHALVES_H
