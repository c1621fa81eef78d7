//===- LoopHalves.h - The operations of a loop over vectors, by halves --------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CONVERSION_LOOPHALVES_H
#define UPDRAFT_LIB_CONVERSION_LOOPHALVES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace updraft {

/// A loop over vectors, whose iterations can be cut in two. The questions are to be asked in this
/// order, each if the one before was answered by yes.
class LoopHalves {
public:
  LoopHalves(mlir::scf::ForOp loop, unsigned vectorBits)
      : loop(loop), body(*loop.getBody()), vectorBits(vectorBits) {}

  /// Whether all iterations are whole, and each has elements of its own, which it reads before it
  /// writes any. Streams may be the same, but do not overlap otherwise.
  bool isIndependent();
  /// Whether the units wait for the chain of an iteration if `window` vectors are in flight.
  bool waits(unsigned window);
  /// Whether the number of iterations is known. Then the second halves can be a loop of their own,
  /// which finds what crosses in memory, and what is in streams there.
  bool isCounted();
  /// Decides on the second half. False if more than `limit` vectors would cross into it.
  bool cut(unsigned limit);

  mlir::scf::ForOp getLoop() const { return loop; }
  /// The elements of an iteration.
  int64_t getStep() const { return step; }
  /// Of elements, if it is counted.
  std::optional<int64_t> getCount() const { return count; }

  /// Whether each half makes the value for itself: constants, addresses and what they are made of.
  static bool isRemade(mlir::Operation &op);
  bool isSecond(mlir::Operation &op) const { return second.contains(&op); }
  /// What the first half makes for the second.
  llvm::ArrayRef<mlir::Value> getCarried() const { return carried.getArrayRef(); }
  /// The store by which the first half keeps a value for longer: in memory of the function, of
  /// which no two addresses that the loop is given are of the same elements. Null for none.
  mlir::LLVM::StoreOp keptBy(mlir::Value value) const;

private:
  bool hasWholeIterations();
  bool findCombinations();
  bool combinesEarly() const;
  bool isOwnElement(mlir::Value address, mlir::Type type);
  unsigned registersOf(mlir::Operation &op) const;
  void cutAt(unsigned cycle);
  bool isAgain(mlir::Operation &op) const;
  void moveToSecond(unsigned cycle);
  void findCarried();

  mlir::scf::ForOp loop;
  mlir::Block &body;
  unsigned vectorBits;
  int64_t step = 0;
  std::optional<int64_t> count;
  llvm::DenseMap<mlir::Operation *, unsigned> start; ///< the cycle in which it can begin
  llvm::DenseMap<mlir::Operation *, unsigned> rest;  ///< cycles from its beginning to the last end
  unsigned latency = 0;                              ///< of an iteration
  llvm::DenseSet<mlir::Operation *> second;
  llvm::DenseSet<mlir::Operation *> combinations; ///< whose results the loop carries
  llvm::SetVector<mlir::Value> carried;
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_LOOPHALVES_H
