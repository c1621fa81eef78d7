//===- Exp.cpp - The exponential function -----------------------------------------------------===//
// e^x = 2^n e^r with n the integer nearest to x / ln 2. The rounding error of r is kept.

#include "Functions.h"
#include "Steps.h"

namespace updraft::expansion {

Real exp(Real x) {
  // Beyond these limits the result is infinite or 0.
  double limit = x.format().isDouble() ? 710 : 90, lowest = x.format().isDouble() ? -746 : -105;
  Real bounded = select(x > limit, limit, select(x < lowest, lowest, x));

  LogOfTwo ln2 = logOfTwo(x.format());
  Whole n = nearestMultiple(bounded, 0x1.71547652b82fep+0);
  Sum r = exactSum(fma(n.number, -ln2.high, bounded), n.number * -ln2.low);
  return scale(expOfSum(r.high, r.low), n.bits);
}

} // namespace updraft::expansion
