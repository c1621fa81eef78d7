//===- UpdraftInterfaces.h - Interfaces and traits of operations --------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_UPDRAFTINTERFACES_H
#define UPDRAFT_IR_UPDRAFTINTERFACES_H

#include "Updraft/IR/UpdraftEnums.h"
#include "mlir/IR/OpDefinition.h"

namespace updraft {

/// An operation that needs whole matrices in memory, so no sweep can do it.
template <typename ConcreteOp>
class OfWholeMatrices : public mlir::OpTrait::TraitBase<ConcreteOp, OfWholeMatrices> {};

inline bool isOfWholeMatrices(mlir::Operation *operation) {
  return operation->hasTrait<OfWholeMatrices>();
}

} // namespace updraft

#include "Updraft/IR/UpdraftInterfaces.h.inc"

#endif // UPDRAFT_IR_UPDRAFTINTERFACES_H
