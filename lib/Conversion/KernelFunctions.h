//===- KernelFunctions.h - The functions of a compiled plan -------------------------*- C++ -*-===//
// Builders of the functions that updraft-c/kernel.h names, one call each. They are created at the
// builder's insertion point, in the module.

#ifndef UPDRAFT_LIB_CONVERSION_KERNELFUNCTIONS_H
#define UPDRAFT_LIB_CONVERSION_KERNELFUNCTIONS_H

#include "PlanInterface.h"
#include "mlir/IR/Builders.h"

namespace updraft {

/// R_initial, with the states that only the plan for matrices has, and R_validate.
void buildInitialFunction(mlir::OpBuilder &builder, const PlanInterface &interface);
void buildValidateFunction(mlir::OpBuilder &builder, const PlanInterface &interface);

/// The prologues of a plan; null, alone, if it has none.
llvm::SmallVector<PrologueOp> prologuesOf(PlanOp plan);

/// R_prologue`index`, for passes over vectors of `lanes` elements. A plan that has no prologue gets
/// one that says that no step is skipped: `prologue` is null.
void buildPrologueFunction(mlir::OpBuilder &builder, const PlanInterface &interface,
                           PrologueOp prologue, unsigned index, unsigned lanes);

/// How a pass is laid out for a CPU.
struct LoopShape {
  unsigned lanes = 1;         ///< elements in one vector of the compute type
  bool maskRemainder = false; ///< masked accesses for the last elements, else one at a time
};

/// R_pass`index`.
mlir::LogicalResult buildPassFunction(mlir::OpBuilder &builder, const PlanInterface &interface,
                                      PassOp pass, unsigned index, LoopShape shape);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_KERNELFUNCTIONS_H
