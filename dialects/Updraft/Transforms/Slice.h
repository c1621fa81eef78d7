//===- Slice.h - The operations that some values need -------------------------------*- C++ -*-===//
// Cuts a rule's block into the bodies of host functions and sweeps. Each body is the part of the
// block that its results need, back to its inputs.

#ifndef UPDRAFT_TRANSFORMS_SLICE_H
#define UPDRAFT_TRANSFORMS_SLICE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"

namespace updraft {

/// A part of a block, in the order of the block.
struct Slice {
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Operation *> operations;

  /// Returns the operations that `roots` need, back to the values for which `isInput` holds. All
  /// values must be results of operations in one block.
  static Slice compute(mlir::ValueRange roots, llvm::function_ref<bool(mlir::Value)> isInput);

  /// Copies the operations to the builder's insertion point. `map` must contain the inputs; the
  /// results are added to it.
  void cloneInto(mlir::OpBuilder &builder, mlir::IRMapping &map) const;
};

/// Returns `values` mapped one by one.
llvm::SmallVector<mlir::Value> lookupAll(const mlir::IRMapping &map, mlir::ValueRange values);

/// Adds a block to `region` with one argument per value, of the same type and location, and maps
/// the values to the arguments.
mlir::Block *createEntryBlock(mlir::OpBuilder &builder, mlir::Region &region,
                              mlir::ValueRange values, mlir::IRMapping &map);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_SLICE_H
