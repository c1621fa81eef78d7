//===- PowerTests.cpp - pow against the C library in more bits --------------------------------===//
// The bounds are those of docs/numerics.md.

#include "CompiledFunction.h"
#include "UnitError.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace updraft::math;

namespace {

constexpr double boundF32 = 0.51, boundF64 = 1;
constexpr int64_t chunk = 1 << 19;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Pairs of a base and an exponent: any bits; results over the whole range; bases near 1 with large
/// exponents; results near the largest denormals; small integers.
template <typename Real>
void fill(std::vector<Real> &x, std::vector<Real> &y, int round, std::mt19937_64 &random) {
  using Limits = std::numeric_limits<Real>;
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int64_t i = 0; i < chunk; ++i) {
    switch (round) {
    case 0:
      if constexpr (sizeof(Real) == 4) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
        y[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
      } else {
        x[i] = std::bit_cast<double>(random());
        y[i] = std::bit_cast<double>(random());
      }
      break;
    case 1: {
      const double exponent = unit(random) * (Limits::max_exponent - 1);
      x[i] = static_cast<Real>(std::exp2(exponent) * (1 + unit(random) / 2));
      y[i] = static_cast<Real>(unit(random) * (Limits::max_exponent + Limits::digits) /
                               std::max(std::fabs(exponent), 0.01));
      break;
    }
    case 2:
      x[i] = static_cast<Real>(1 + std::ldexp(unit(random), -int(random() % 30)));
      y[i] = static_cast<Real>(unit(random) * Limits::max_exponent * 0.7 /
                               std::max(std::fabs(std::log(std::fabs(double(x[i])))), 1e-20));
      break;
    case 3:
      x[i] = static_cast<Real>(std::exp2(unit(random) * (Limits::max_exponent - 1)));
      y[i] = static_cast<Real>((Limits::min_exponent - 1.5 + unit(random) / 2) /
                               std::log2(double(x[i])));
      break;
    default:
      x[i] = static_cast<Real>(int(random() % 41) - 20);
      y[i] = static_cast<Real>((int(random() % 81) - 40) / 2.0);
    }
  }
}

template <typename Real> LargestError<Real> measure() {
  CompiledFunction<Real> compiled("pow(param, grad)");
  std::mt19937_64 random(2);
  LargestError<Real> largest;
  std::vector<Real> x(chunk), y(chunk), results(chunk);
  for (int round = 0; round < 5; ++round) {
    fill(x, y, round, random);
    results = x;
    compiled.apply(results, y);
    for (int64_t i = 0; i < chunk; ++i)
      largest.add(unitError(results[i], std::pow(Exact<Real>(x[i]), Exact<Real>(y[i]))), x[i],
                  y[i]);
  }
  return largest;
}

TEST(Power, F32) {
  const LargestError<float> largest = measure<float>();
  RecordProperty("largest", largest.describe());
  EXPECT_LE(largest.units, boundF32) << largest.describe();
}

TEST(Power, F64) {
  if (std::numeric_limits<Exact<double>>::digits <= 53)
    GTEST_SKIP() << "long double has no more bits than double here";
  const LargestError<double> largest = measure<double>();
  RecordProperty("largest", largest.describe());
  EXPECT_LE(largest.units, boundF64) << largest.describe();
}

TEST(Power, SpecialValues) {
  CompiledFunction<float> single("pow(param, grad)");
  CompiledFunction<double> twice("pow(param, grad)");
  const double values[] = {0.0,   -0.0,  1,   -1,   2,        -2,        0.5,    -0.5,
                           3,     -3,    2.5, -2.5, infinity, -infinity, nan,    1e30,
                           -1e30, 1e-30, 4,   -4,   0x1p-149, -0x1p-149, 0x1p24, 0x1.fffffep127};
  for (double x : values)
    for (double y : values) {
      EXPECT_LE(unitError(twice(x, y), std::pow(Exact<double>(x), Exact<double>(y))), 1)
          << x << " ^ " << y;
      const auto a = static_cast<float>(x), b = static_cast<float>(y);
      EXPECT_LE(unitError(single(a, b), std::pow(Exact<float>(a), Exact<float>(b))), 1)
          << a << " ^ " << b;
    }
}

} // namespace
