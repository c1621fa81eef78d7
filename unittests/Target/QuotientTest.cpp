//===- QuotientTest.cpp - Roots over a scalar, by division and by its reciprocal --------------===//
// Wide vectors compute the quotient from the reciprocal (updraft-invert-divisors), with the same
// bits as a division for every divisor and every value under the root.

#include "JitPlan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace updraft;
using namespace updraft::test;

namespace {

constexpr const char *plan = R"(updraft.plan @R compute f32 {
  %divisor = updraft.hyper "divisor" = 1.0
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k = updraft.prologue(%divisor) : (f64) -> f32 {
  ^bb0(%s: f64):
    %0 = arith.truncf %s : f64 to f32
    updraft.yield %0 : f32
  }
  updraft.sweep scalars(%k : f32) reads(%g : !updraft.stream<f32>)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%s: f32, %ge: f32):
    %0 = math.sqrt %ge : f32
    %1 = arith.divf %0, %s : f32
    updraft.store %1 : f32
  }
})";

using Limits = std::numeric_limits<float>;

std::vector<float> dividends(std::mt19937 &random) {
  std::vector<float> values{0.0f,
                            -0.0f,
                            Limits::denorm_min(),
                            3 * Limits::denorm_min(),
                            Limits::min(),
                            std::nextafter(Limits::min(), 0.0f),
                            1.0f,
                            std::nextafter(1.0f, 0.0f),
                            std::nextafter(1.0f, 2.0f),
                            std::nextafter(4.0f, 0.0f),
                            Limits::max(),
                            Limits::infinity(),
                            -1.0f,
                            Limits::quiet_NaN()};
  // All exponents, positive only.
  while (values.size() < 4096)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random()) >> 1));
  return values;
}

std::vector<float> divisors(std::mt19937 &random) {
  std::vector<float> values{0.0f,
                            -0.0f,
                            1.0f,
                            -1.0f,
                            3.0f,
                            Limits::denorm_min(),
                            Limits::max(),
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN()};
  // The bounds, powers of two, and adjacent values, whose mantissas are all zeros or all ones.
  for (int exponent : {-100, -25, -24, -23, -10, -1, 0, 1, 10, 23, 24, 25, 100}) {
    const float power = std::ldexp(1.0f, exponent);
    values.insert(values.end(), {power, std::nextafter(power, 0.0f), std::nextafter(power, 2e38f)});
  }
  while (values.size() < 2000)
    values.push_back(std::ldexp(1 + std::ldexp(static_cast<float>(random() >> 9), -23),
                                static_cast<int>(random() % 56) - 28));
  return values;
}

} // namespace

TEST(QuotientTest, OfRootsHasTheBitsOfADivision) {
  std::mt19937 random(1);
  std::vector<float> grad = dividends(random), param(grad.size());
  const std::vector<float> all = divisors(random);
  void *streams[] = {param.data(), grad.data()};
  for (const CPUTarget &target : allLoopShapes()) {
    JitPlan compiled(plan, target);
    ASSERT_TRUE(compiled.sweep);
    for (float divisor : all) {
      float row[] = {0, divisor};
      const upd_range range{0, static_cast<int64_t>(grad.size())};
      compiled.sweep(row, streams, &range, 1, nullptr, nullptr);
      for (size_t i = 0; i < grad.size(); ++i) {
        const float expected = std::sqrt(grad[i]) / divisor;
        ASSERT_TRUE(std::isnan(expected)
                        ? std::isnan(param[i])
                        : std::bit_cast<uint32_t>(param[i]) == std::bit_cast<uint32_t>(expected))
            << "sqrt(" << grad[i] << ") / " << divisor << " is " << expected << ", not " << param[i]
            << ", with vectors of " << target.vectorBits << " bits";
      }
    }
  }
}

/// A quotient can round differently only if it is close to the midpoint of two floats. For
/// significands X and Y, integers of 24 bits, X * 2^s / Y = M + r with an integer M of 24 bits,
/// where s is 23 if X >= Y, and else 24. So k = X * 2^(s + 1) - (2M + 1)Y is the distance from the
/// midpoint, in units of 1 / 2Y of the last place. It isn't 0, because 2^(s + 1) has more factors
/// of two than Y. The estimate is off by less than 1.5 in the last place. The reciprocal's error
/// contributes less than 3 units, and the rounding of the remainder, which may need 25 bits, 2
/// units. So the results can only differ for |k| <= 5.
TEST(QuotientTest, ProductsAndRemaindersGiveEveryQuotient) {
  constexpr uint64_t least = uint64_t(1) << 23, most = uint64_t(1) << 24;
  auto quotient = [](float x, float y) {
    const float inverse = 1 / y, estimate = x * inverse;
    return std::fma(std::fma(-y, estimate, x), inverse, estimate);
  };
  uint64_t checked = 0;
  for (uint64_t y = least; y < most; ++y) {
    const int zeros = std::countr_zero(y);
    const uint64_t odd = y >> zeros;
    if (odd == 1)
      continue; // a power of two, whose reciprocal is exact
    // With s + 1 as `shift`, X = k / 2^shift modulo the odd part of Y.
    for (int shift : {24, 25}) {
      uint64_t inverse = 1, power = (odd + 1) / 2 % odd;
      for (int exponent = shift - zeros; exponent != 0; exponent >>= 1) {
        if (exponent % 2 != 0)
          inverse = inverse * power % odd;
        power = power * power % odd;
      }
      for (int64_t k = -8; k <= 8; ++k) {
        const int64_t unit = int64_t(1) << zeros;
        if (k == 0 || k % unit != 0)
          continue;
        const auto modulus = static_cast<int64_t>(odd);
        const auto rest = static_cast<uint64_t>((k / unit % modulus + modulus) % modulus);
        uint64_t x = rest * inverse % odd;
        x += x < least ? (least - x + odd - 1) / odd * odd : 0;
        for (; x < most; x += odd) {
          if ((shift == 24) != (x >= y))
            continue;
          const auto dividend = static_cast<float>(x), divisor = static_cast<float>(y);
          ASSERT_EQ(quotient(dividend, divisor), dividend / divisor) << x << " / " << y;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, most);
}
