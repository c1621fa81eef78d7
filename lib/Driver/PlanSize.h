//===- PlanSize.h - The size of plans -----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_PLANSIZE_H
#define UPDRAFT_LIB_DRIVER_PLANSIZE_H

#include "mlir/IR/BuiltinOps.h"

namespace updraft {

/// Larger plans take longer than 5 s to compile on some target.
constexpr size_t maxPlannedOperations = 8000;

/// Returns the number of operations in the plans of `module`: those for probed steps or those for
/// the others, whichever are more. Operations that take longer to
/// compile count as the constants of updraft/Frontend/Limits.h state. Planning may add many
/// operations to an imported rule, because each prologue computes its inputs from the start.
size_t sizeOfPlans(mlir::ModuleOp module);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_PLANSIZE_H
