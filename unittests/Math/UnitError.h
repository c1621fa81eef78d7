//===- UnitError.h - Distances in units in the last place ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_MATH_UNITERROR_H
#define UPDRAFT_UNITTESTS_MATH_UNITERROR_H

#include <string>
#include <type_traits>

namespace updraft::math {

/// The type of the C library's functions for measuring errors of a `Real`. For f64 it is long
/// double if that has more than 53 bits.
template <typename Real>
using Exact = std::conditional_t<sizeof(Real) == sizeof(float), double, long double>;

/// |value - exact| in units in the last place of `exact` in the type; 0 if both are NaN, or
/// infinite with the same sign; infinite if only one is NaN. An overflowed value counts as the next
/// power of two after the largest value.
template <typename Real> double unitError(Real value, Exact<Real> exact);

/// The largest error of a set, and its location.
template <typename Real> struct LargestError {
  double units = -1;
  Real x = 0, y = 0;

  void add(double error, Real atX, Real atY = 0) {
    if (!(error <= units)) {
      units = error;
      x = atX;
      y = atY;
    }
  }
  std::string describe() const;
};

} // namespace updraft::math

#endif // UPDRAFT_UNITTESTS_MATH_UNITERROR_H
