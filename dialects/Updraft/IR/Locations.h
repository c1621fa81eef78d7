//===- Locations.h - Locations of operations that stand for several places ----------*- C++ -*-===//
// Lines of a rule are traced through the passes by the locations of operations. `updraft.next` and
// `updraft.store` stand for several statements. Their location is fused: the place of the rule,
// then for each statement its place under a name.

#ifndef UPDRAFT_IR_LOCATIONS_H
#define UPDRAFT_IR_LOCATIONS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/ArrayRef.h"

namespace updraft {

/// Returns the location without its name.
mlir::Location unnamed(mlir::Location loc);

/// Returns a location that debug information can represent: without names, and with only the first
/// of fused places.
mlir::Location forDebugger(mlir::Location loc);

/// Returns `loc`, under its name, with the places of `other`.
mlir::Location fusedInto(mlir::Location loc, mlir::Location other);

/// Returns the place that has the name `part` in a fused location. Without one, returns the first
/// place. A correction has the place of the state that it corrects.
mlir::Location locationOf(mlir::Location loc, llvm::StringRef part);

/// Returns the name of the place of a reduction in the location of `updraft.store`.
std::string reductionPart(size_t index);

/// When an operation is replaced by one that computes the same, adds its place to the other's.
struct LocationFuser : mlir::RewriterBase::Listener {
  void notifyOperationReplaced(mlir::Operation *op, mlir::ValueRange replacement) override;
  using Listener::notifyOperationReplaced;
};

} // namespace updraft

#endif // UPDRAFT_IR_LOCATIONS_H
