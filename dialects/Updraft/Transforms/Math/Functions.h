//===- Functions.h - Elementary functions as arithmetic -----------------------------*- C++ -*-===//
// Expands each function on a scalar of f32 or f64 to IEEE arithmetic, fma and bit operations,
// without branches, tables or calls. The same operations on vectors therefore compute several
// elements. docs/numerics.md lists the measured errors.

#ifndef UPDRAFT_TRANSFORMS_MATH_FUNCTIONS_H
#define UPDRAFT_TRANSFORMS_MATH_FUNCTIONS_H

#include "Scalar.h"

namespace updraft::expansion {

Real exp(Real x);
Real log(Real x);
Real tanh(Real x);
/// As in IEEE 754 and C: 1 if y is 0 or x is 1, for any value of the other.
Real pow(Real x, Real y);

} // namespace updraft::expansion

#endif // UPDRAFT_TRANSFORMS_MATH_FUNCTIONS_H
