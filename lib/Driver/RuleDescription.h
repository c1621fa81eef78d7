//===- RuleDescription.h - The interface of scheduled plans -------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_RULEDESCRIPTION_H
#define UPDRAFT_LIB_DRIVER_RULEDESCRIPTION_H

#include "Updraft/IR/UpdraftOps.h"
#include "runtime/base/RuleInterface.h"
#include "updraft/Frontend/Frontend.h"

namespace updraft {

/// Returns the description that accompanies the code of `plan`, the first of its module's plans:
/// for vectors if there are two. `gpu` is the target, or empty for a CPU. Reports operations that
/// the kernel interface can't represent.
mlir::FailureOr<runtime::RuleInterface> describeRule(PlanOp plan, llvm::StringRef numerics,
                                                     llvm::StringRef gpu, const RuleFacts &facts);

/// Returns the description of one plan for matrices, as in that of its rule except for the numbers
/// of states.
mlir::FailureOr<runtime::PlanInterface> describePlan(PlanOp plan);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_RULEDESCRIPTION_H
