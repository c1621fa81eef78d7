//===- BlockedFormatTests.cpp - Blocks of 8-bit codes: errors, and special blocks -------------===//

#include "updraft/Reference/BlockedFormat.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace updraft::reference;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class BlockedFormat : public testing::TestWithParam<StorageFormat> {
protected:
  /// `values` after storing and loading them.
  std::vector<float> stored(const std::vector<float> &values) const {
    const Blocks blocks(Shape::vector(int64_t(values.size())), false);
    std::vector<char> memory(blocks.bytes());
    storeElements(GetParam(), blocks, memory.data(), values);
    std::vector<float> result;
    for (size_t i = 0; i < values.size(); ++i)
      result.push_back(loadElement(GetParam(), blocks, memory.data(), int64_t(i)));
    return result;
  }
};

// The bounds of docs/numerics.md, plus the rounding of f32.
TEST_P(BlockedFormat, ErrorsAreWithinTheirBounds) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 200; ++trial) {
    const bool isSigned = trial % 2;
    std::vector<float> values(Blocks::size);
    float largest = 0;
    for (float &value : values) {
      value = std::ldexp(normal(random), -int(random() % 12));
      value = isSigned ? value : std::fabs(value);
      largest = std::max(largest, std::fabs(value));
    }
    const std::vector<float> result = stored(values);
    const double n = isSigned ? 127 : 255, a = largest;
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = std::fabs(values[i]);
      double bound = GetParam() == StorageFormat::Q8Linear ? a / (2 * n)
                                                           : std::sqrt(x * a) / n + a / (4 * n * n);
      const double unit = GetParam() == StorageFormat::Q8Linear ? a / n : a / (n * n);
      if (!isSigned && result[i] <= unit * 1.0001)
        bound = std::max(bound, unit);
      EXPECT_LE(std::fabs(double(result[i]) - values[i]), bound + 1e-6 * a) << values[i];
    }
  }
}

TEST_P(BlockedFormat, TheLargestValueStaysClose) {
  for (float largest : {1.0f, 3e38f, 1e-30f, 0.1f}) {
    EXPECT_NEAR(stored({largest, 0})[0] / largest, 1, 1e-6);
    EXPECT_NEAR(stored({-largest, largest / 2})[0] / largest, -1, 1e-6);
  }
}

TEST_P(BlockedFormat, ZerosAreExact) {
  const std::vector<float> result = stored({0, -0.0f, 5, 0.1f});
  EXPECT_EQ(result[0], 0);
  EXPECT_EQ(result[1], 0);
  EXPECT_FALSE(std::signbit(result[1]));
  EXPECT_EQ(stored({0, -0.0f})[1], 0);
  EXPECT_EQ(stored({0, -3})[0], 0);
}

TEST_P(BlockedFormat, NothingPositiveBecomesZeroWithoutNegativeValues) {
  EXPECT_GT(stored({1, 1e-20f})[1], 0);
  EXPECT_EQ(stored({1, 1e-20f, -1})[1], 0);
}

TEST_P(BlockedFormat, NonFiniteValuesMakeTheirBlockNaN) {
  for (float special : {infinity, -infinity, nan, -nan}) {
    std::vector<float> values(Blocks::size + 1, 1);
    values[17] = special;
    const std::vector<float> result = stored(values);
    for (int64_t i = 0; i < Blocks::size; ++i)
      EXPECT_TRUE(std::isnan(result[i])) << special << " at " << i;
    EXPECT_EQ(result.back(), 1) << "the next block";
  }
}

TEST_P(BlockedFormat, BlocksWithoutAnInverseBecomeZeros) {
  for (float tiny : {1e-38f, 1e-40f, 1e-45f, -1e-45f})
    EXPECT_EQ(stored({tiny, tiny / 2})[0], 0) << tiny;
  EXPECT_NE(stored({1e-33f})[0], 0);
}

TEST_P(BlockedFormat, FillsWithExactValues) {
  const Blocks blocks(Shape::of({3, 300}), true);
  std::vector<char> memory(blocks.bytes());
  for (float value : {0.3f, -0.3f, 0.0f, 1e-45f, 3.4e38f, -infinity}) {
    fillElements(GetParam(), blocks, memory.data(), value);
    for (int64_t i = 0; i < blocks.elements(); ++i)
      ASSERT_EQ(loadElement(GetParam(), blocks, memory.data(), i), value);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, BlockedFormat,
                         testing::Values(StorageFormat::Q8Linear, StorageFormat::Q8Companded),
                         [](const auto &info) {
                           return info.param == StorageFormat::Q8Linear ? "linear" : "companded";
                         });

TEST(Blocks, LieInRowsOrInTheWholeTensor) {
  const Shape shape = Shape::of({2, 3, 300});
  const Blocks flat(shape, false), rows(shape, true);
  EXPECT_EQ(flat.count(), 8); // out of 1800 elements
  EXPECT_EQ(rows.count(), 12);
  EXPECT_EQ(rows.blockOf(299), 1);
  EXPECT_EQ(rows.blockOf(300), 2);
  EXPECT_EQ(flat.blockOf(300), 1);
  EXPECT_EQ(flat.scalesOffset(), 1800);
  EXPECT_EQ(Blocks(Shape::vector(5), false).bytes(), 12);
}

} // namespace
