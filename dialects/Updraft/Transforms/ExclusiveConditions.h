//===- ExclusiveConditions.h - Conditions that never hold in one step ---------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXCLUSIVECONDITIONS_H
#define UPDRAFT_TRANSFORMS_EXCLUSIVECONDITIONS_H

#include "mlir/IR/Value.h"

namespace updraft {

/// Whether two conditions of a plan's stages never hold together: one has a flag that the other has
/// with `not`. A null condition always holds.
bool neverHoldTogether(mlir::Value first, mlir::Value second);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXCLUSIVECONDITIONS_H
