//===- ExpandMath.h - Elementary functions as arithmetic ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXPANDMATH_H
#define UPDRAFT_TRANSFORMS_EXPANDMATH_H

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Operation.h"

namespace updraft {

/// Whether `op` is `math.exp`, `math.log`, `math.tanh` or `math.powf` of f32 or f64, on scalars or
/// vectors.
bool isElementaryFunction(mlir::Operation *op);

/// Expands those on scalars within `root` to arithmetic, which is what they are defined by. Returns
/// how many there were.
unsigned expandFunctions(mlir::Operation *root);

/// Expands `math.fpowi` on scalars to multiplications, in a loop if the exponent is no constant.
void expandPower(mlir::math::FPowIOp power);

/// How many elementary functions there are within `root`.
unsigned countElementaryFunctions(mlir::Operation *root);

/// How many of them the passes of a plan, or its prologues, have as arithmetic, and how many powers
/// by an integer its host functions have as loops. Where there are more,
/// updraft-outline-math makes calls of them. LLVM's scheduling and register allocation take time in
/// proportion to the square of a block's length: 2 s for 100 powers, 38 s for 1000. Calls of one
/// function take them milliseconds.
constexpr unsigned maxInlineFunctions = 32;

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXPANDMATH_H
