//===- UnitError.cpp - Distances in units in the last place -----------------------------------===//

#include "UnitError.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace updraft::math {

/// The unit in the last place of a type at `exact`; beyond the range, that of the largest exponent.
template <typename Real> Exact<Real> unitAt(Exact<Real> exact) {
  using Limits = std::numeric_limits<Real>;
  int exponent = 0;
  std::frexp(exact, &exponent);
  if (exact == 0)
    exponent = Limits::min_exponent;
  exponent = std::clamp(exponent, Limits::min_exponent, Limits::max_exponent);
  return std::ldexp(Exact<Real>(1), exponent - Limits::digits);
}

template <typename Real> double unitError(Real value, Exact<Real> exact) {
  using Limits = std::numeric_limits<Real>;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(value) || std::isnan(exact))
    return std::isnan(value) && std::isnan(exact) ? 0 : infinity;
  const Exact<Real> beyond = Exact<Real>(Limits::max()) * (1 + Exact<Real>(Limits::epsilon()) / 2);
  const Exact<Real> bounded = std::clamp(exact, -beyond, beyond);
  const Exact<Real> found = std::clamp(Exact<Real>(value), -beyond, beyond);
  if (found == bounded) // includes the sign of zero
    return found != 0 || std::signbit(value) == std::signbit(exact) ? 0 : infinity;
  return static_cast<double>(std::fabs(found - bounded) / unitAt<Real>(bounded));
}

template <typename Real> std::string LargestError<Real>::describe() const {
  char text[160];
  std::snprintf(text, sizeof(text), "%.4f units at %a, %a", units, double(x), double(y));
  return text;
}

template double unitError(float, Exact<float>);
template double unitError(double, Exact<double>);
template struct LargestError<float>;
template struct LargestError<double>;

} // namespace updraft::math
