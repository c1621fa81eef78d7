//===- Arithmetic.h - Operations that the C++ library lacks -------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REFERENCE_ARITHMETIC_H
#define UPDRAFT_LIB_REFERENCE_ARITHMETIC_H

#include <cmath>
#include <limits>

namespace updraft::reference {

/// Returns the larger operand; NaN if either is NaN. +0 is larger than -0.
template <typename Real> Real maximum(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<Real>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

} // namespace updraft::reference

#endif // UPDRAFT_LIB_REFERENCE_ARITHMETIC_H
