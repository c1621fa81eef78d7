//===- Functions.h - Elementary functions as arithmetic -----------------------------*- C++ -*-===//
// The expansion of each function on a scalar of f32 or f64: IEEE arithmetic, fma and operations on
// bits, without branches, tables or calls, so that the same operations on vectors are the function
// of several elements. docs/numerics.md has the errors that were measured.

#ifndef UPDRAFT_TRANSFORMS_MATH_FUNCTIONS_H
#define UPDRAFT_TRANSFORMS_MATH_FUNCTIONS_H

#include "Scalar.h"

namespace updraft::expansion {

Real exp(Real x);
Real log(Real x);
Real tanh(Real x);
/// As IEEE 754 and C define it: 1 where y is 0 or x is 1, whatever the other.
Real pow(Real x, Real y);

} // namespace updraft::expansion

#endif // UPDRAFT_TRANSFORMS_MATH_FUNCTIONS_H
