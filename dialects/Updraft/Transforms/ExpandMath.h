//===- ExpandMath.h - Elementary functions as arithmetic ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_EXPANDMATH_H
#define UPDRAFT_TRANSFORMS_EXPANDMATH_H

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Operation.h"

namespace updraft {

/// Whether `op` is `math.exp`, `math.log`, `math.tanh` or `math.powf` of f32 or f64, on scalars or
/// vectors.
bool isElementaryFunction(mlir::Operation *op);

/// Expands scalar elementary functions within `root` to the arithmetic that defines them. Returns
/// their number.
unsigned expandFunctions(mlir::Operation *root);

/// Expands `math.fpowi` on scalars to multiplications, in a loop if the exponent is not constant.
void expandPower(mlir::math::FPowIOp power);

/// Returns the number of elementary functions within `root`.
unsigned countElementaryFunctions(mlir::Operation *root);

/// The maximum number of elementary functions that are expanded inline in the sweeps of a plan, or
/// in its prologues, and of powers by an integer that become loops in its host functions. If there
/// are more, updraft-outline-math turns them into calls. The time of LLVM's scheduling and register
/// allocation grows with the square of a block's length: 2 s for 100 powers, 38 s for 1000. Calls
/// of one function take milliseconds.
constexpr unsigned maxInlineFunctions = 32;

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_EXPANDMATH_H
