//===- Tanh.cpp - The hyperbolic tangent ------------------------------------------------------===//
// tanh |x| = u / (u + 2) with u = e^(2 |x|) - 1, which is accurate for small x; u is kept as a sum
// of two numbers.

#include "Functions.h"
#include "Steps.h"

namespace updraft::expansion {

Real tanh(Real x) {
  // Beyond the limit the quotient rounds to 1.
  double limit = x.format().isDouble() ? 40 : 20;
  Real twice = abs(x) * 2.0;
  Real bounded = select(twice > limit, limit, twice);

  LogOfTwo ln2 = logOfTwo(x.format());
  Whole n = nearestMultiple(bounded, 0x1.71547652b82fep+0);
  Sum r = exactSum(fma(n.number, -ln2.high, bounded), n.number * -ln2.low);
  Sum p = expMinusOne(r.high, r.low);
  Real power = powerOfTwo(n.bits, x.format());
  Sum u = exactSum(power - 1.0, power * p.high);
  u.low = fma(power, p.low, u.low);

  // The quotient and its rounding error.
  Real sum = u.high + 2.0, two = sum - u.high;
  Real sumLow = (u.high - (sum - two)) + (2.0 - two);
  Real inverse = 1.0 / sum, quotient = u.high * inverse;
  Real rest = fma(-quotient, sumLow + u.low, fma(-quotient, sum, u.high) + u.low);
  return copySign(fma(rest, inverse, quotient), x);
}

} // namespace updraft::expansion
