//===- ExpandMath.h - Elementary functions as arithmetic ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXPANDMATH_H
#define UPDRAFT_TRANSFORMS_EXPANDMATH_H

#include "mlir/IR/Operation.h"

namespace updraft {

/// Expands `math.exp`, `math.log`, `math.tanh` and `math.powf` on scalars of f32 and f64 within
/// `root` to arithmetic, which is what they are defined by. Returns how many there were.
unsigned expandFunctions(mlir::Operation *root);

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXPANDMATH_H
