//===- Steps.h - Steps that several functions share ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_MATH_STEPS_H
#define UPDRAFT_TRANSFORMS_MATH_STEPS_H

#include "Scalar.h"

namespace updraft::expansion {

/// ln 2 as a sum. `high` times an integer up to 2^11 (2^8 in f32) is exact.
struct LogOfTwo {
  double high, low;
};
LogOfTwo logOfTwo(FloatFormat format);

/// c[0] + c[1] x + c[2] x^2 + …, by Horner's rule with fma.
Real polynomial(Real x, llvm::ArrayRef<double> coefficients);
/// The same, with separate coefficients for f32 and f64.
inline Real polynomial(Real x, llvm::ArrayRef<double> forF32, llvm::ArrayRef<double> forF64) {
  return polynomial(x, x.format().isDouble() ? forF64 : forF32);
}

/// An integer, as a number and as its bits.
struct Whole {
  Real number;
  Bits bits;
};

/// The integer nearest to x * factor, which must be below 2^21 in magnitude. NaN gives any value.
Whole nearestMultiple(Real x, double factor);

/// 2^n, which must be a normal number.
Real powerOfTwo(Bits n, FloatFormat format);

/// x * 2^n, rounded once, for any n whose halves are exponents of normal numbers.
Real scale(Real x, Bits n);

/// A value and its rounding error.
struct Sum {
  Real high, low;
};
/// a + b, exactly, if a is 0 or |a| >= |b|.
Sum exactSum(Real a, Real b);
/// a * b, exactly, unless it underflows.
Sum exactProduct(Real a, Real b);

/// e^(high + low), for a sum of at most ln(2) / 2 in magnitude.
Real expOfSum(Real high, Real low);
/// e^(high + low) - 1, for the same range.
Sum expMinusOne(Real high, Real low);

/// Splits a positive, finite x into 2^exponent * significand with a significand from sqrt(1/2) to
/// sqrt(2). Other values give any result.
struct Parts {
  Real exponent, significand;
};
Parts split(Real x);

} // namespace updraft::expansion

#endif // UPDRAFT_TRANSFORMS_MATH_STEPS_H
