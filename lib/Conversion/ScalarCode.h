//===- ScalarCode.h - The regions of a plan that compute scalars --------------------*- C++ -*-===//
// Inlines prologues, initial values and requirements, with operands loaded from memory.

#ifndef UPDRAFT_LIB_CONVERSION_SCALARCODE_H
#define UPDRAFT_LIB_CONVERSION_SCALARCODE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "updraft/Conversion/PlanInterface.h"

namespace updraft {

/// The arguments of a prologue in updraft-c/kernel.h; other functions have only the first ones.
struct ScalarArguments {
  mlir::Value hyper, perTensor = {}, reduced = {}, scalars = {}, row = {}, nextScalars = {};
};

/// Creates operations at the end of a block and loads each value of the plan once.
class ScalarCode {
public:
  ScalarCode(mlir::OpBuilder &builder, const PlanInterface &interface,
             const ScalarArguments &arguments);

  /// Clones the body of `op`, and returns the values that it yields.
  template <typename Op> llvm::SmallVector<mlir::Value> inlineBody(Op op) {
    mlir::IRMapping map;
    mlir::Block &body = op.getBody().front();
    for (auto [inner, outer] : llvm::zip_equal(body.getArguments(), op.getInputs()))
      map.map(inner, valueOf(outer));
    for (mlir::Operation &inner : body.without_terminator())
      builder.clone(inner, map);
    return llvm::map_to_vector(body.getTerminator()->getOperands(),
                               [&](mlir::Value value) { return map.lookup(value); });
  }

  /// Computes and stores the results of prologue `index`, for sweeps over vectors of `lanes`
  /// elements; `prologue` is null if the plan has none.
  void runPrologue(PrologueOp prologue, unsigned index, unsigned lanes);

  void store(mlir::Location loc, mlir::Type element, mlir::Value value, mlir::Value base,
             unsigned index);

private:
  mlir::Value loadF64(mlir::Location name, mlir::Value base, unsigned index);
  mlir::Value load(mlir::Value planValue);
  mlir::Value valueOf(mlir::Value planValue);

  mlir::OpBuilder &builder;
  const PlanInterface &interface;
  mlir::Location loc;
  ScalarArguments arguments;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_SCALARCODE_H
