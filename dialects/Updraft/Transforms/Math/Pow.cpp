//===- Pow.cpp - Powers with real exponents ---------------------------------------------------===//
// x|^y = e^(y ln |x|), with more bits for the product than the result has: f32 is computed in f64,
// f64 in sums of two f64.

#include "Functions.h"
#include "Steps.h"

namespace updraft::expansion {
namespace {

/// a^y for a positive, finite a, rounded to f32 from a result accurate to 2^-32.
Real powInDouble(Real a, Real y) {
  mlir::FloatType f64 = a.make->builder.getF64Type();
  Real wide = convert(a, f64), exponent = convert(y, f64);

  // Sollya: as in Log.cpp, with a lower degree.
  static constexpr double artanh[] = {0x1.55555555656afp-1, 0x1.999998c5c093dp-2,
                                      0x1.249327fb45216p-2, 0x1.c678db0fff9bep-3,
                                      0x1.8cb25d0dd914p-3};
  auto [e, m] = split(wide);
  Real s = (m - 1.0) / (m + 1.0);
  Real z = s * s;
  Real ln = fma(e, 0x1.62e42fefa39efp-1, s * fma(z, polynomial(z, artanh), 2.0));

  // At these limits the result is 0 or infinity in f32, and a normal number in f64.
  Real product = exponent * ln;
  Real bounded = select(product > 200, 200, select(product < -200, -200, product));
  // Sollya: as in Steps.cpp, with a lower degree.
  static constexpr double rest[] = {0x1.0000000b7e85p-1,   0x1.555555272efep-3,
                                    0x1.5554e956f24a2p-5,  0x1.11114bdef6372p-7,
                                    0x1.6d42cd389f373p-10, 0x1.a072c0f0b57bcp-13};
  Whole n = nearestMultiple(bounded, 0x1.71547652b82fep+0);
  Real r = fma(n.number, -0x1.62e42fefa39efp-1, bounded);
  Real power = fma(r * r, polynomial(r, rest), r) + 1.0;
  return convert(power * powerOfTwo(n.bits, wide.format()), a.format().type);
}

/// ln a for a positive, finite a.
Sum logAsSum(Real a) {
  // Sollya: fpminimax((atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) / z^2, 7, …, [2^-60; 0.0296],
  // floating, relative).
  static constexpr double rest[] = {
      0x1.999999999999ap-3, 0x1.2492492492302p-3, 0x1.c71c71c74aee7p-4, 0x1.745d173e6b058p-4,
      0x1.3b13a91c9308ap-4, 0x1.1115782a1e51ep-4, 0x1.e010f75334d2ep-5, 0x1.db0085dca5aedp-5};
  auto [e, m] = split(a);

  // s = (m - 1) / (m + 1); m + 1 may lose a bit.
  Real f = m - 1.0, sum = m + 1.0;
  Real lost = m - (sum - 1.0);
  Real inverse = 1.0 / sum;
  Real s = f * inverse;
  Real sLow = fma(-s, lost, fma(-s, sum, f)) * inverse;

  // z = s^2 and w = z / 3 + z^2 rest(z), so that ln m = 2 (s + s w).
  Real z = s * s;
  Real zLow = fma(s, s, -z) + s * 2.0 * sLow;
  Real third = a.constant(0x1.5555555555555p-2);
  auto [t, tLow] = exactProduct(z, third);
  Sum w = exactSum(t, z * z * polynomial(z, rest));
  w.low = w.low + (tLow + fma(zLow, third, z * 0x1.5555555555555p-56));

  auto [c, cLow] = exactProduct(s, w.high);
  Sum half = exactSum(s, c);
  half.low = half.low + (sLow + (cLow + fma(s, w.low, sLow * w.high)));

  LogOfTwo ln2 = logOfTwo(a.format());
  Sum ln = exactSum(e * ln2.high, half.high * 2.0);
  ln.low = ln.low + fma(half.low, 2.0, e * ln2.low);
  return exactSum(ln.high, ln.low);
}

Real powAsSum(Real a, Real y) {
  Sum ln = logAsSum(a);
  Real product = y * ln.high;
  Real productLow = fma(y, ln.low, fma(y, ln.high, -product));
  // Beyond these limits the result is infinite or 0. If the product overflows, its lower part is
  // NaN.
  Real bounded = select(product > 710, 710, select(product < -746, -746, product));
  Real low = select(bounded == product, productLow, bounded.constant(0));

  LogOfTwo ln2 = logOfTwo(a.format());
  Whole n = nearestMultiple(bounded, 0x1.71547652b82fep+0);
  Sum r = exactSum(fma(n.number, -ln2.high, bounded), fma(n.number, -ln2.low, low));
  return scale(expOfSum(r.high, r.low), n.bits);
}

} // namespace

Real pow(Real x, Real y) {
  Real a = abs(x), zero = x.constant(0), infinity = x.infinity();
  Real power = x.format().isDouble() ? powAsSum(a, y) : powInDouble(a, y);

  // a = 0 or infinity: 0 or infinity, depending on the sign of the exponent.
  Flag isLarge = (a == infinity), isExtreme = (a == 0.0) | isLarge;
  Real signedY = select(isLarge, y, -y);
  power = select(isExtreme, select(signedY > 0.0, infinity, zero), power);
  // a = 1: 1, also if y is infinite.
  power = select(a == 1.0, 1, power);

  // x < 0: the result is negative for odd y, and NaN if y is not an integer.
  Real half = y * 0.5;
  Flag isInteger = floor(y) == y, isOdd = isInteger & (floor(half) != half);
  power = select(isOdd, copySign(power, x), power);
  Flag hasNone = (x < 0.0) & (floor(y) != y) & (a < infinity);
  power = select(hasNone | isNaN(x) | isNaN(y), x.nan(), power);
  return select((y == 0.0) | (x == 1.0), 1, power);
}

} // namespace updraft::expansion
