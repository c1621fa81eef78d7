//===- UpdraftEnums.h - Extents and kinds of reductions -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_UPDRAFTENUMS_H
#define UPDRAFT_IR_UPDRAFTENUMS_H

#include "mlir/IR/OpImplementation.h"

#include "Updraft/IR/UpdraftEnums.h.inc"

namespace updraft {

/// Returns the smallest extent that contains both.
inline Extent join(Extent left, Extent right) {
  return static_cast<Extent>(static_cast<uint32_t>(left) | static_cast<uint32_t>(right));
}

/// Whether a value of extent `inner` is constant over each place of `outer`.
inline bool isWithin(Extent inner, Extent outer) { return join(inner, outer) == outer; }

/// Whether `over` has one value per row, column or batch of a matrix.
inline bool isOfMatrix(Extent over) {
  return !isWithin(over, Extent::tensor) && over != Extent::element;
}

} // namespace updraft

#endif // UPDRAFT_IR_UPDRAFTENUMS_H
