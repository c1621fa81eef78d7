//===- RoundingTests.cpp - Stochastic rounding and corrections --------------------------------===//
// Checks both definitions of docs/numerics.md on the bits. Uses the tested conversions only to read
// a bf16.

#include "updraft/Reference/StorageFormat.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace updraft::reference;

namespace {

float floatOf(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bitsOf(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

/// Lower halves at the edges, and some between.
constexpr uint32_t lowerHalves[] = {0,      1,      0x7f,   0x80,   0x81,   0xff,   0x100,
                                    0x17f,  0x180,  0x181,  0x7f7f, 0x7f80, 0x7f81, 0x7fff,
                                    0x8000, 0x8001, 0x8080, 0xabcd, 0xff7f, 0xff80, 0xffff};

TEST(StochasticRounding, AddsRandomBitsBelow) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper)
    for (uint32_t lower : lowerHalves)
      for (uint32_t random : {0u, 1u, 0x7fffu, 0x8000u, 0xffffu}) {
        const float value = floatOf(upper << 16 | lower);
        const double rounded = roundStochastically(value, random);
        if (std::isnan(value))
          ASSERT_TRUE(std::isnan(rounded));
        else
          ASSERT_EQ(bitsOf(rounded), (bitsOf(value) + random) & 0xffff0000)
              << std::hexfloat << value;
      }
}

TEST(StochasticRounding, KeepsExactValues) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    const float value = floatOf(upper << 16);
    for (uint32_t random : {0u, 1u, 0x8000u, 0xffffu})
      if (!std::isnan(value))
        ASSERT_EQ(bitsOf(roundStochastically(value, random)), upper << 16);
  }
}

TEST(StochasticRounding, RoundsUpAsOftenAsTheDistanceSays) {
  // Exactly the fraction of all random bits that corresponds to the position between the
  // neighbours, so the fraction also increases with the value.
  for (uint32_t lower : lowerHalves) {
    uint32_t up = 0;
    for (uint32_t random = 0; random < 0x10000; ++random)
      up += bitsOf(roundStochastically(floatOf(0x3f800000 | lower), random)) == 0x3f810000;
    EXPECT_EQ(up, lower);
  }
}

TEST(StochasticRounding, MeanIsTheValue) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  constexpr int samples = 20000;
  for (int i = 0; i < 20; ++i) {
    const double value = normal(random);
    const double unit = std::ldexp(1, std::ilogb(value) - 7);
    double sum = 0;
    for (int k = 0; k < samples; ++k)
      sum += roundStochastically(value, uint16_t(random())) - value;
    // One rounding has at most half a unit of standard deviation.
    EXPECT_LT(std::fabs(sum / samples), 4 * unit / 2 / std::sqrt(samples)) << value;
  }
}

TEST(StochasticRounding, RoundsDoublesToFloatFirst) {
  const double value = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(roundStochastically(value, 0x7fff), 1);
  EXPECT_EQ(roundStochastically(value, 0x8000), 1 + 0x1p-7);
}

TEST(Corrections, SplitAsTheBitsOfTheNearestValueWith24Bits) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper)
    for (uint32_t lower : lowerHalves) {
      const uint32_t bits = upper << 16 | lower;
      const float value = floatOf(bits);
      const Corrected parts = splitCorrected(value);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(parts.upper));
        ASSERT_EQ(parts.correction, 0);
        ASSERT_TRUE(std::isnan(combineCorrected(parts)));
        continue;
      }
      const uint32_t rounded = (bits + 0x7f + (bits >> 8 & 1)) >> 8;
      const uint32_t upperBits = (rounded + 0x80) >> 8;
      ASSERT_EQ(bitsOf(parts.upper), upperBits << 16) << std::hexfloat << value;
      ASSERT_EQ(parts.correction, int(rounded) - int(upperBits << 8)) << std::hexfloat << value;
      ASSERT_GE(parts.correction, -128);
      ASSERT_LE(parts.correction, 127);
      ASSERT_EQ(bitsOf(combineCorrected(parts)), rounded << 8) << std::hexfloat << value;
    }
}

TEST(Corrections, CombineEveryPair) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper)
    for (int correction = -128; correction < 128; ++correction) {
      const double value = combineCorrected({floatOf(upper << 16), correction});
      uint32_t expected = (upper << 16) + uint32_t(correction * 256);
      // Zero is the limit.
      if ((upper & 0x7fff) == 0 && correction < 0)
        expected = upper << 16;
      if (std::isnan(floatOf(expected)))
        ASSERT_TRUE(std::isnan(value));
      else
        ASSERT_EQ(bitsOf(value), expected);
    }
}

TEST(Corrections, KeepValuesWhoseUpperPartIsInfinite) {
  const float largest = floatOf(0x7f7fff00); // with 24 bits
  const Corrected parts = splitCorrected(largest);
  EXPECT_TRUE(std::isinf(parts.upper));
  EXPECT_EQ(combineCorrected(parts), largest);
  EXPECT_TRUE(std::isinf(combineCorrected(splitCorrected(std::numeric_limits<float>::max()))));
  EXPECT_EQ(splitCorrected(INFINITY).correction, 0);
}

} // namespace
