//===- StateList.h - The states of a rule's plans, as one list ----------------------*- C++ -*-===//
// A rule may have one plan for vectors and one for matrices, with different states. The runtime
// sees a single list, in which each state says for which tensors it exists.

#ifndef UPDRAFT_CONVERSION_STATELIST_H
#define UPDRAFT_CONVERSION_STATELIST_H

#include "Updraft/IR/UpdraftOps.h"

#include <optional>

namespace updraft {

struct PlanState {
  llvm::StringRef name;
  mlir::Type storage;
  Extent over;
  /// Sweeps compute the initial value.
  bool fromStep;
  /// The state's index in each plan; empty if the plan lacks the state.
  std::optional<unsigned> inFirst, inMatrix;
  mlir::Location loc; ///< of the declaration
};

/// Returns the plan's streams after the parameter and the gradient, then its scalars, in plan
/// order.
llvm::SmallVector<PlanState> statesOf(PlanOp plan);

/// Merges the states of both plans. The result keeps the order of each plan; the orders must be
/// compatible. `matrix` may be null.
llvm::SmallVector<PlanState> statesOf(PlanOp first, PlanOp matrix);

/// The plan for matrices beside `plan`, which is for vectors, or null.
PlanOp matrixPlanOf(PlanOp plan);

/// Returns whether the functions of the rule, which belong to no single plan, are emitted with
/// `plan`. This is the plan for vectors, or the plan for matrices if there is no other, of those
/// without probes.
bool hasRuleFunctions(PlanOp plan);

/// Returns the operation of the module that is the plan or contains it.
mlir::Operation *placeOf(PlanOp plan);

/// Erases the plans of the module and what contains them.
void erasePlans(mlir::ModuleOp module);

} // namespace updraft

#endif // UPDRAFT_CONVERSION_STATELIST_H
