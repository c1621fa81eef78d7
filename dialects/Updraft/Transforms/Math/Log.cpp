//===- Log.cpp - The natural logarithm --------------------------------------------------------===//
// ln x = e ln 2 + ln m, and with s = (m - 1) / (m + 1), ln m = 2 artanh s = 2 s + s^3 R(s^2), in
// the form of FreeBSD's e_log.c: the large part, m - 1, is exact and is added last.

#include "Functions.h"
#include "Steps.h"

namespace updraft::expansion {

Real log(Real x) {
  // Sollya: fpminimax((2 atanh(sqrt(z)) / sqrt(z) - 2) / z, n, …, [2^-60; 0.0296], floating,
  // relative).
  static constexpr double f32[] = {0x1.555556p-1, 0x1.99986ep-2, 0x1.24c0e6p-2, 0x1.cea564p-3};
  static constexpr double f64[] = {0x1.5555555555558p-1, 0x1.9999999995184p-2, 0x1.2492492e25b5cp-2,
                                   0x1.c71c629bb2a23p-3, 0x1.7462caae07025p-3, 0x1.39fb717ba1901p-3,
                                   0x1.2b7d1f2ae1d4ep-3};
  auto [e, m] = split(x);
  Real f = m - 1.0;
  Real s = f / (f + 2.0);
  Real z = s * s;
  Real rest = z * polynomial(z, f32, f64);
  Real halfSquare = f * 0.5 * f;
  LogOfTwo ln2 = logOfTwo(x.format());
  Real small = halfSquare - fma(s, halfSquare + rest, e * ln2.low);
  Real result = fma(e, ln2.high, f - small);

  Real outside = select(x == 0.0, -x.infinity(), x.nan());
  return select(x > 0.0, select(x < x.infinity(), result, x), outside);
}

} // namespace updraft::expansion
