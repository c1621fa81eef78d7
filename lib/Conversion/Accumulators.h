//===- Accumulators.h - The lanes that a reduction adds to --------------------------*- C++ -*-===//
// The inner levels of the reduction tree of updraft-c/kernel.h: elements are combined in order into
// UPD_LANES lanes, and the lanes by halving. All of it is f64, so the width of a vector changes
// neither the operations nor their order.

#ifndef UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H
#define UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace updraft {

/// What combining with leaves every value as it is, but for the sign of a zero.
mlir::Value reductionIdentity(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                              mlir::Type type);

/// Of an f64 each, or a vector of it.
mlir::Value combineReduced(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                           mlir::Value left, mlir::Value right);

/// Combines `values`, an f64 or a vector of it, into the f64s at `pointer`; only the lanes of
/// `mask`, if there is one.
void accumulate(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                mlir::Value values, mlir::Value pointer, mlir::Value mask = {});

/// The lanes that a sequence of values takes when it starts at lane 0, in groups of eight: a power
/// of two of groups, that a vector of `vectorLanes` values fits in. The other lanes would be those
/// of nothing, and change nothing.
mlir::Value liveLaneGroups(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value length,
                           unsigned vectorLanes);

/// The lanes of one reduction, on the stack; empty at first.
class LaneAccumulator {
public:
  /// `builder` is at the start of a function in `module`.
  LaneAccumulator(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                  ReductionKind kind);

  /// Combines `values` into the lanes from `lane` on, which are there: neither crosses a multiple
  /// of UPD_LANES.
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lane, mlir::Value values,
           mlir::Value mask) const;

  /// All lanes as one value; empties them. `groups` is from `liveLaneGroups`.
  mlir::Value take(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value groups) const;

private:
  ReductionKind kind;
  mlir::Value lanes; ///< the address of the first
  mlir::func::FuncOp takeFunction;
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H
