//===- VectorBody.h - The body of a sweep, on scalars or vectors --------------------*- C++ -*-===//
// A sweep's body computes one element. The same operations with vector types compute several.

#ifndef UPDRAFT_LIB_CONVERSION_VECTORBODY_H
#define UPDRAFT_LIB_CONVERSION_VECTORBODY_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace updraft {

/// Reports the first operation of `sweep` that has no vector form.
mlir::LogicalResult checkVectorizable(SweepOp sweep);

/// Returns `type` for one lane, or a vector of it for several.
mlir::Type laneType(mlir::Type type, unsigned lanes);

/// Clones `op`, an elementwise operation or a constant, on values of `lanes` lanes.
void cloneOnLanes(mlir::OpBuilder &builder, mlir::Operation &op, mlir::IRMapping &map,
                  unsigned lanes);

/// Clones the body of `sweep` on values of `lanes` lanes. `arguments` replaces its block arguments,
/// and `byPlace` creates the replacement of an operation whose result depends on the element's
/// place: random bits or an identity. Returns the operands of its `updraft.store`. The body must be
/// vectorizable.
llvm::SmallVector<mlir::Value>
cloneBody(mlir::OpBuilder &builder, SweepOp sweep, mlir::ValueRange arguments, unsigned lanes,
          llvm::function_ref<mlir::Value(mlir::Operation *)> byPlace);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_VECTORBODY_H
