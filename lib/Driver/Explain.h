//===- Explain.h - The cost of a step -----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_EXPLAIN_H
#define UPDRAFT_LIB_DRIVER_EXPLAIN_H

#include "Updraft/IR/UpdraftOps.h"

namespace updraft {

/// Prints what a step of `plan` costs: passes, bytes and flops per element, temporaries, the
/// scalars that were hoisted. `numerics`: how arithmetic rounds; `gpu`: the target, if it is none
/// of CPUs.
void explainPlan(PlanOp plan, llvm::StringRef numerics, llvm::StringRef gpu, llvm::raw_ostream &os);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_EXPLAIN_H
