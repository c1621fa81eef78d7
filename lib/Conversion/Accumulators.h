//===- Accumulators.h - The lanes that a reduction adds to --------------------------*- C++ -*-===//
// The inner levels of the reduction tree of updraft-c/kernel.h: elements are combined in order into
// UPD_LANES lanes, and the lanes by halving. All of it is f64, so the width of a vector changes
// neither the operations nor their order.

#ifndef UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H
#define UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/Builders.h"

namespace updraft {

/// What combining with leaves every value as it is, but for the sign of a zero.
mlir::Value reductionIdentity(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                              mlir::Type type);

/// Combines `values`, an f64 or a vector of it, into the f64s at `pointer`; only the lanes of
/// `mask`, if there is one.
void accumulate(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                mlir::Value values, mlir::Value pointer, mlir::Value mask = {});

/// The lanes of one reduction, on the stack.
class LaneAccumulator {
public:
  /// `builder` is at the start of the function: a loop would take more stack each time.
  LaneAccumulator(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind);

  void reset(mlir::OpBuilder &builder, mlir::Location loc) const;

  /// Combines `values` into the lanes from `lane` on, which are there: neither crosses a multiple
  /// of UPD_LANES.
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lane, mlir::Value values,
           mlir::Value mask) const;

  /// All lanes as one value.
  mlir::Value total(mlir::OpBuilder &builder, mlir::Location loc) const;

private:
  ReductionKind kind;
  mlir::Value lanes; ///< the address of the first
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H
