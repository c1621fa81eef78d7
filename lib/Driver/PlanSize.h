//===- PlanSize.h - How much there is to compile ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_PLANSIZE_H
#define UPDRAFT_LIB_DRIVER_PLANSIZE_H

#include "mlir/IR/BuiltinOps.h"

namespace updraft {

/// More than that take longer than 5 s to compile, for some target.
constexpr size_t maxPlannedOperations = 8000;

/// The operations of the plans of `module`. Those that take longer to compile than others count as
/// the constants of updraft/Frontend/Limits.h say. A rule may have many more operations planned
/// than it is imported to: each prologue computes what it needs from the start.
size_t sizeOfPlans(mlir::ModuleOp module);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_PLANSIZE_H
