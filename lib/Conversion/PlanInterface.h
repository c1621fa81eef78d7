//===- PlanInterface.h - Where a plan's values lie in the kernel's arguments --------*- C++ -*-===//
// The numbering that compiled code and the runtime share: hyperparameters, streams, scalar states,
// reductions, and the scalars of a prologue row.

#ifndef UPDRAFT_LIB_CONVERSION_PLANINTERFACE_H
#define UPDRAFT_LIB_CONVERSION_PLANINTERFACE_H

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/DenseMap.h"

namespace updraft {

struct PlanInterface {
  /// Numbers the values of `plan`; reports at the operation what the kernel interface cannot hold.
  static mlir::FailureOr<PlanInterface> of(PlanOp plan);

  mutable PlanOp plan; ///< a handle, whose accessors are not const
  mlir::Type compute;  ///< f32 or f64: the type of a row's values too
  llvm::DenseMap<mlir::Value, unsigned> hyperIndex;
  /// Of elements, or of the codes of blocks. Temporaries come last.
  llvm::DenseMap<mlir::Value, unsigned> streamIndex;
  llvm::DenseMap<mlir::Value, unsigned> scaleIndex;   ///< of the scales of blocks, after the states
  llvm::DenseMap<mlir::Value, unsigned> scalarIndex;  ///< of a scalar state before the step
  llvm::DenseMap<mlir::Value, unsigned> reducedIndex; ///< of a reduction over a tensor or group
  llvm::DenseMap<mlir::Value, unsigned> rowIndex;     ///< 0 is the skip flag
  unsigned rowScalarCount = 1;                        ///< values in a row
  /// The state whose value after the step a prologue's result is; such a result is in no row.
  llvm::DenseMap<mlir::Value, ScalarOp> nextScalars;

  /// The entries that a tensor has in the kernel's `streams`.
  unsigned streamCount() const { return streamIndex.size() + scaleIndex.size(); }
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_PLANINTERFACE_H
