//===- UpdraftEnums.h - Extents and kinds of reductions -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_UPDRAFTENUMS_H
#define UPDRAFT_IR_UPDRAFTENUMS_H

#include "mlir/IR/OpImplementation.h"

#include "Updraft/IR/UpdraftEnums.h.inc"

namespace updraft {

/// The smallest extent that both are within.
inline Extent join(Extent left, Extent right) {
  return static_cast<Extent>(static_cast<uint32_t>(left) | static_cast<uint32_t>(right));
}

/// Whether a value of extent `inner` is constant over every place of `outer`.
inline bool isWithin(Extent inner, Extent outer) { return join(inner, outer) == outer; }

/// Whether only a matrix has such values: one for each of its rows, columns or batches.
inline bool isOfMatrix(Extent over) {
  return !isWithin(over, Extent::tensor) && over != Extent::element;
}

} // namespace updraft

#endif // UPDRAFT_IR_UPDRAFTENUMS_H
