//===- UnitError.h - Distances in units in the last place ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_MATH_UNITERROR_H
#define UPDRAFT_UNITTESTS_MATH_UNITERROR_H

#include <string>
#include <type_traits>

namespace updraft::math {

/// The type of the C library's functions that say how far a `Real` is from the mathematics; for
/// f64, long double, where that has more than 53 bits.
template <typename Real>
using Exact = std::conditional_t<sizeof(Real) == sizeof(float), double, long double>;

/// |value - exact| in units in the last place that `exact` has in the type; 0 where both are NaN,
/// or infinite with one sign; infinite where only one is NaN. A value that overflowed counts as the
/// power of two beyond the largest.
template <typename Real> double unitError(Real value, Exact<Real> exact);

/// The largest error of a set, and where it is.
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
