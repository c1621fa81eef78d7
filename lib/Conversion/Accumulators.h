//===- Accumulators.h - The lanes that a reduction adds to --------------------------*- C++ -*-===//
// The inner levels of the reduction tree of updraft-c/kernel.h: elements are combined in order into
// UPD_LANES lanes, and the lanes by halving. All arithmetic is f64, so the width of a vector
// changes neither the operations nor their order.

#ifndef UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H
#define UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H

#include "ElementPlace.h"
#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace updraft {

/// Returns the identity of `kind`: combining with it changes no value, except the sign of a zero.
mlir::Value reductionIdentity(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                              mlir::Type type);

/// Combines two f64 values, or vectors of f64.
mlir::Value combineReduced(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                           mlir::Value left, mlir::Value right);

/// Combines `values`, an f64 or a vector of f64, into the elements from `place` on. If there is a
/// `mask`, changes only its lanes.
void accumulate(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind,
                mlir::Value values, const ElementPlace &place, mlir::Value mask = {});

/// Whether a sequence of `length` values uses only the first few lanes if it starts at lane 0, in
/// vectors of `vectorLanes` values.
mlir::Value usesFewLanes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value length,
                         unsigned vectorLanes);

/// The lanes of one reduction, on the stack; initially empty.
class LaneAccumulator {
public:
  /// `builder` must be at the start of a function in `module`.
  LaneAccumulator(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                  ReductionKind kind);

  /// Combines `values` into the lanes from `lane` on. The values must not cross a multiple of
  /// UPD_LANES.
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lane, mlir::Value values,
           mlir::Value mask);

  /// Returns the total of all lanes and empties them, after the code that adds to them. `few` is
  /// from `usesFewLanes`.
  mlir::Value take(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value few) const;

private:
  ReductionKind kind;
  mlir::Value lanes;
  bool isCount = true; ///< only counts of elements are added, to the first lane
  mlir::func::FuncOp takeFunction;
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_ACCUMULATORS_H
