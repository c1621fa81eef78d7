//===- ElementPlace.h - Where an element is -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CONVERSION_ELEMENTPLACE_H
#define UPDRAFT_LIB_CONVERSION_ELEMENTPLACE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace updraft {

/// An element of `elements`. Its number is the sum of the indices.
struct ElementPlace {
  mlir::Value elements;
  llvm::SmallVector<mlir::Value, 2> indices;
};

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_ELEMENTPLACE_H
