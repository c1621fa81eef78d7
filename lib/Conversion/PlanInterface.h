//===- PlanInterface.h - Where a plan's values lie in the kernel's arguments --------*- C++ -*-===//
// The numbering that compiled code and the runtime share: hyperparameters, streams, and the
// scalars of a prologue row.

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
  llvm::DenseMap<mlir::Value, unsigned> streamIndex;
  llvm::DenseMap<mlir::Value, unsigned> rowIndex; ///< 0 is the skip flag
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_PLANINTERFACE_H
