//===- PlanInterface.h - Positions of a plan's values -------------------------------*- C++ -*-===//
// The numbering that compiled code and the runtime share: hyperparameters, streams, scalar states,
// reductions, and the scalars of a prologue row.

#ifndef UPDRAFT_CONVERSION_PLANINTERFACE_H
#define UPDRAFT_CONVERSION_PLANINTERFACE_H

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/DenseMap.h"

namespace updraft {

struct PlanInterface {
  /// Numbers the values of `plan`. Reports operations that the kernel interface can't represent.
  static mlir::FailureOr<PlanInterface> of(PlanOp plan);

  mutable PlanOp plan; ///< a handle with non-const accessors
  mlir::Type compute;  ///< f32 or f64; also the type of a row's values
  llvm::DenseMap<mlir::Value, unsigned> hyperIndex;
  /// The elements, or the codes of blocks. Temporaries come last.
  llvm::DenseMap<mlir::Value, unsigned> streamIndex;
  llvm::DenseMap<mlir::Value, unsigned> scaleIndex;   ///< of the scales of blocks, after the states
  llvm::DenseMap<mlir::Value, unsigned> scalarIndex;  ///< of a scalar state before the step
  llvm::DenseMap<mlir::Value, unsigned> reducedIndex; ///< of a reduction over a tensor or group
  llvm::DenseMap<mlir::Value, unsigned> rowIndex;     ///< 0 is the skip flag
  unsigned rowScalarCount = 1;                        ///< values in a row
  /// Maps results of prologues to the states whose next value they are. Rows don't contain them.
  llvm::DenseMap<mlir::Value, ScalarOp> nextScalars;
  /// Maps results of prologues to their numbers among the probes. Rows don't contain them.
  llvm::DenseMap<mlir::Value, unsigned> probeIndex;

  /// The number of entries per tensor in the kernel's `streams`.
  unsigned streamCount() const { return streamIndex.size() + scaleIndex.size(); }
};

} // namespace updraft

#endif // UPDRAFT_CONVERSION_PLANINTERFACE_H
