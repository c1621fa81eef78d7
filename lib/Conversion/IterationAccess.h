//===- IterationAccess.h - Accesses to the element of an iteration ------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CONVERSION_ITERATIONACCESS_H
#define UPDRAFT_LIB_CONVERSION_ITERATIONACCESS_H

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace updraft {

/// Returns the memory that shifts of elements begin in.
inline mlir::Value withoutShifts(mlir::Value elements) {
  while (auto shift = elements.getDefiningOp<ShiftOp>())
    elements = shift.getElements();
  return elements;
}

/// Whether only the function accesses the memory.
inline bool isScratch(mlir::Value elements) {
  return !!withoutShifts(elements).getDefiningOp<ScratchOp>();
}

/// An access without a mask to `elements[number]` or `elements[origin, number]`, where `number` is
/// the loop's induction variable, and the others are defined outside of the loop.
struct IterationAccess {
  mlir::Value elements;
  mlir::Value origin; ///< null in the first form

  /// Returns nothing if the access has neither form. `Access` is ReadOp or WriteOp.
  template <typename Access>
  static std::optional<IterationAccess> match(Access access, mlir::scf::ForOp loop) {
    mlir::OperandRange indices = access.getIndices();
    if (access.getMask() || indices.size() > 2 || indices.back() != loop.getInductionVar() ||
        !loop.isDefinedOutsideOfLoop(access.getElements()))
      return std::nullopt;
    mlir::Value origin = indices.size() == 2 ? indices.front() : mlir::Value();
    if (origin && !loop.isDefinedOutsideOfLoop(origin))
      return std::nullopt;
    return IterationAccess{access.getElements(), origin};
  }
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_ITERATIONACCESS_H
