//===- Explain.h - The cost of a step -----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_EXPLAIN_H
#define UPDRAFT_LIB_DRIVER_EXPLAIN_H

#include "Updraft/IR/UpdraftOps.h"

namespace updraft {

/// Prints the cost of a step of `plan`: sweeps, bytes and flops per element, memory for matrices,
/// and hoisted scalars. `numerics` is the rounding mode; `gpu` is the target, or "" for CPUs.
void explainPlan(PlanOp plan, llvm::StringRef numerics, llvm::StringRef gpu, llvm::raw_ostream &os);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_EXPLAIN_H
