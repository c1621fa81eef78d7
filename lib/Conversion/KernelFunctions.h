//===- KernelFunctions.h - The functions of a compiled plan -------------------------*- C++ -*-===//
// Each function builds functions of updraft-c/kernel.h at the builder's insertion point, in the
// module.

#ifndef UPDRAFT_LIB_CONVERSION_KERNELFUNCTIONS_H
#define UPDRAFT_LIB_CONVERSION_KERNELFUNCTIONS_H

#include "mlir/IR/Builders.h"
#include "updraft/Conversion/PlanInterface.h"

namespace updraft {

/// Build R_initial, including the states that only the plan for matrices has, and R_validate.
void buildInitialFunction(mlir::OpBuilder &builder, const PlanInterface &interface);
void buildValidateFunction(mlir::OpBuilder &builder, const PlanInterface &interface);

/// Returns the prologues of a plan, or a single null if it has none.
llvm::SmallVector<PrologueOp> prologuesOf(PlanOp plan);

/// Builds R_prologue`index`, for sweeps over vectors of `lanes` elements. If the plan has no
/// prologue, `prologue` is null and the function reports that no step is skipped.
void buildPrologueFunction(mlir::OpBuilder &builder, const PlanInterface &interface,
                           PrologueOp prologue, unsigned index, unsigned lanes);

/// The layout of a sweep for a CPU.
struct LoopShape {
  unsigned lanes = 1;         ///< elements in one vector of the compute type
  bool maskRemainder = false; ///< masked accesses for the last elements, else one at a time
};

/// Builds R_sweep`index`.
mlir::LogicalResult buildSweepFunction(mlir::OpBuilder &builder, const PlanInterface &interface,
                                       SweepOp sweep, unsigned index, LoopShape shape);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_KERNELFUNCTIONS_H
