//===- ExpandMath.h - Elementary functions as arithmetic ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXPANDMATH_H
#define UPDRAFT_TRANSFORMS_EXPANDMATH_H

#include "mlir/IR/Operation.h"

namespace updraft {

/// Whether `op` is `math.exp`, `math.log`, `math.tanh` or `math.powf` on scalars of f32 or f64.
bool isElementaryFunction(mlir::Operation *op);

/// Expands these within `root` to arithmetic, which is what they are defined by. Returns how many
/// there were.
unsigned expandFunctions(mlir::Operation *root);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXPANDMATH_H
