//===- StateList.h - The states of a rule's plans, as one list ----------------------*- C++ -*-===//
// A rule for vectors and its form for matrices may differ in their states. To the runtime a rule
// has one list of them, in which each says for which tensors it exists.

#ifndef UPDRAFT_CONVERSION_STATELIST_H
#define UPDRAFT_CONVERSION_STATELIST_H

#include "Updraft/IR/UpdraftOps.h"

#include <optional>

namespace updraft {

struct PlanState {
  llvm::StringRef name;
  mlir::Type storage;
  Extent over;
  /// Passes give it its initial value.
  bool fromStep;
  /// Its number among the states of the plan, if that has it.
  std::optional<unsigned> inFirst, inMatrix;
};

/// The plan's streams after the parameter and the gradient, and its scalars, in their order.
llvm::SmallVector<PlanState> statesOf(PlanOp plan);

/// The states of both; in the order of each of them, which must not contradict each other.
/// `matrix` may be null.
llvm::SmallVector<PlanState> statesOf(PlanOp first, PlanOp matrix);

/// The plan for matrices that accompanies `plan` in its module, or null.
PlanOp matrixPlanOf(PlanOp plan);

/// Whether the functions of its rule, which are not of one plan, are made with it: with one for
/// matrices where there is none for vectors.
bool hasRuleFunctions(PlanOp plan);

} // namespace updraft

#endif // UPDRAFT_CONVERSION_STATELIST_H
