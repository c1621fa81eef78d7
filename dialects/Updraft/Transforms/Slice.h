//===- Slice.h - The operations that some values need -------------------------------*- C++ -*-===//
// Cutting a rule's block into the bodies of host functions and passes: each is the part of the
// block that its results need, back to the values that it is given.

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

  /// The operations that `roots` need, back to the values for which `isInput` holds. All values are
  /// results of operations of one block.
  static Slice compute(mlir::ValueRange roots, llvm::function_ref<bool(mlir::Value)> isInput);

  /// Copies the operations to the builder's insertion point. `map` knows the inputs; it learns the
  /// results.
  void cloneInto(mlir::OpBuilder &builder, mlir::IRMapping &map) const;
};

/// `values` mapped one by one.
llvm::SmallVector<mlir::Value> lookupAll(const mlir::IRMapping &map, mlir::ValueRange values);

/// Gives `region` a block with one argument for each of `values`, of the same type and location,
/// and maps the values to the arguments.
mlir::Block *createEntryBlock(mlir::OpBuilder &builder, mlir::Region &region,
                              mlir::ValueRange values, mlir::IRMapping &map);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_SLICE_H
