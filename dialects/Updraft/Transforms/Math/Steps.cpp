//===- Steps.cpp - Steps that several functions share -----------------------------------------===//

#include "Steps.h"

namespace updraft::expansion {

LogOfTwo logOfTwo(FloatFormat format) {
  if (format.isDouble())
    return {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};
  return {0x1.62e3p-1, 0x1.2fefa2p-17};
}

Real polynomial(Real x, llvm::ArrayRef<double> coefficients) {
  Real sum = x.constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, coefficient);
  return sum;
}

// Adding 1.5 * 2^fraction leaves an integer in the lowest bits. Conversion instructions would
// suffice for f32, but AVX2 has none for 64-bit integers.
static double roundingShift(FloatFormat format) {
  return std::ldexp(1.5, static_cast<int>(format.fraction()));
}

Whole nearestMultiple(Real x, double factor) {
  Real shift = x.constant(roundingShift(x.format()));
  Real shifted = fma(x, factor, shift);
  return {shifted - shift, toBits(shifted) - toBits(shift)};
}

Real powerOfTwo(Bits n, FloatFormat format) {
  return fromBits((n + format.bias()) << format.fraction(), format.type);
}

// If the result is denormal, only the second multiplication rounds.
Real scale(Real x, Bits n) {
  Bits half = n >> 1;
  return x * powerOfTwo(half, x.format()) * powerOfTwo(n - half, x.format());
}

/// (e^x - 1 - x) / x^2, for |x| <= ln(2) / 2.
/// Sollya: fpminimax((exp(x) - 1 - x) / x^2, n, …, [-0.34658; 0.34658], floating, relative).
static Real expRest(Real x) {
  static constexpr double f32[] = {0x1p-1, 0x1.5554dep-3, 0x1.55556cp-5, 0x1.120abep-7,
                                   0x1.6ca98ep-10};
  static constexpr double f64[] = {
      0x1.0000000000001p-1,  0x1.555555555554dp-3,  0x1.5555555553ce7p-5,  0x1.11111111144cbp-7,
      0x1.6c16c178a5f25p-10, 0x1.a01a018c38db6p-13, 0x1.a019b8cb0070ap-16, 0x1.71de59ee2ea2fp-19,
      0x1.2891bdd595152p-22, 0x1.aeabce96acfe9p-26};
  return polynomial(x, f32, f64);
}

Real expOfSum(Real high, Real low) {
  Sum linear = exactSum(high.constant(1), high);
  return linear.high + fma(high * high, expRest(high), linear.low + low);
}

Sum expMinusOne(Real high, Real low) {
  return exactSum(high, fma(high * high, expRest(high), low));
}

Parts split(Real x) {
  FloatFormat format = x.format();
  auto fraction = static_cast<int>(format.fraction());
  // Makes a denormal normal first.
  Flag isDenormal = x < std::ldexp(1.0, 1 - format.bias());
  Real normal = select(isDenormal, x * std::ldexp(1.0, fraction + 1), x);

  Bits bits = toBits(normal);
  Bits rootOfHalf = toBits(x.constant(0x1.6a09e667f3bcdp-1));
  Bits exponent = (bits - rootOfHalf) >> fraction;
  Real significand = fromBits(bits - (exponent << fraction), format.type);

  Real shift = x.constant(roundingShift(format));
  Real number = fromBits(toBits(shift) + exponent, format.type);
  // Both are exact: subtracting removes the shift and leaves the exponent.
  Real offset = select(isDenormal, x.constant(roundingShift(format) + fraction + 1), shift);
  return {number - offset, significand};
}

Sum exactSum(Real a, Real b) {
  Real high = a + b;
  return {high, b - (high - a)};
}

Sum exactProduct(Real a, Real b) {
  Real high = a * b;
  return {high, fma(a, b, -high)};
}

} // namespace updraft::expansion
