//===- UnaryTests.cpp - exp, log and tanh against the C library in more bits ------------------===//
// The bounds are those of docs/numerics.md.

#include "CompiledFunction.h"
#include "UnitError.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace updraft::math;

namespace {

struct Function {
  const char *name;
  Exact<float> (*exactOfF32)(Exact<float>);
  Exact<double> (*exactOfF64)(Exact<double>);
  double boundF32, boundF64;
  double reach;         // beyond it the result is constant
  float worst;          // over all f32, from EveryF32
  double worstRange[2]; // range of f64 with the largest errors, for the same reasons
};

void PrintTo(const Function &function, std::ostream *os) { *os << function.name; }

class Unary : public testing::TestWithParam<Function> {
protected:
  static constexpr int64_t chunk = 1 << 20;

  /// The largest error over the floats with the patterns first, first + stride, …, up to the chunk
  /// with `last`.
  static LargestError<float> measure(uint64_t first, uint64_t stride,
                                     uint64_t last = std::numeric_limits<uint32_t>::max()) {
    CompiledFunction<float> compiled(std::string(GetParam().name) + "(grad)");
    LargestError<float> largest;
    std::vector<float> inputs(chunk), results(chunk);
    for (uint64_t at = first; at <= last; at += stride * chunk) {
      for (int64_t i = 0; i < chunk; ++i)
        inputs[i] = std::bit_cast<float>(static_cast<uint32_t>(at + i * stride));
      compiled.apply(results, inputs);
      for (int64_t i = 0; i < chunk; ++i)
        largest.add(unitError(results[i], GetParam().exactOfF32(inputs[i])), inputs[i]);
    }
    return largest;
  }
};

TEST_P(Unary, F32) {
  const LargestError<float> largest = measure(0, 509);
  RecordProperty("largest", largest.describe());
  EXPECT_LE(largest.units, GetParam().boundF32) << largest.describe();
}

TEST_P(Unary, F32AroundTheWorst) {
  const uint64_t worst = std::bit_cast<uint32_t>(GetParam().worst);
  const LargestError<float> largest = measure(worst - chunk / 2, 1, worst);
  RecordProperty("largest", largest.describe());
  EXPECT_LE(largest.units, GetParam().boundF32) << largest.describe();
  EXPECT_GT(largest.units, GetParam().boundF32 - 0.02) << "the bound is too high";
}

TEST_P(Unary, DISABLED_EveryF32) {
  const LargestError<float> largest = measure(0, 1);
  RecordProperty("largest", largest.describe());
  EXPECT_LE(largest.units, GetParam().boundF32) << largest.describe();
  std::printf("%s: %s\n", GetParam().name, largest.describe().c_str());
}

TEST_P(Unary, F64) {
  if (std::numeric_limits<Exact<double>>::digits <= 53)
    GTEST_SKIP() << "long double has no more bits than double here";
  CompiledFunction<double> compiled(std::string(GetParam().name) + "(grad)");
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> inReach(-GetParam().reach, GetParam().reach);
  std::uniform_real_distribution<double> exponent(-30, 8);
  std::uniform_real_distribution<double> nearWorst(GetParam().worstRange[0],
                                                   GetParam().worstRange[1]);
  LargestError<double> largest;
  std::vector<double> inputs(chunk), results(chunk);
  for (int round = 0; round < 4; ++round) {
    for (double &input : inputs) {
      // Any bits; values around 1; typical values; values with the largest errors.
      input = round == 0 ? std::bit_cast<double>(random())
              : round == 1
                  ? std::exp2(exponent(random)) * (random() & 1 ? 1 : -1) + (random() & 1 ? 1 : 0)
              : round == 2 ? inReach(random)
                           : nearWorst(random);
    }
    compiled.apply(results, inputs);
    for (int64_t i = 0; i < chunk; ++i)
      largest.add(unitError(results[i], GetParam().exactOfF64(inputs[i])), inputs[i]);
  }
  RecordProperty("largest", largest.describe());
  EXPECT_LE(largest.units, GetParam().boundF64) << largest.describe();
}

TEST_P(Unary, SpecialValues) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CompiledFunction<float> single(std::string(GetParam().name) + "(grad)");
  CompiledFunction<double> twice(std::string(GetParam().name) + "(grad)");
  for (double x : {0.0, -0.0, 1.0, -1.0, infinity, -infinity, nan}) {
    EXPECT_LE(unitError(single(0, static_cast<float>(x)), GetParam().exactOfF32(x)), 1) << x;
    EXPECT_LE(unitError(twice(0, x), GetParam().exactOfF64(x)), 1) << x;
  }
}

std::string nameOf(const testing::TestParamInfo<Function> &info) { return info.param.name; }

// Errors are the largest for exp where results are near the largest denormals; for log, just below
// the square root of 2; and for tanh, just above a quarter of ln 2. There the extracted power of
// two changes.
INSTANTIATE_TEST_SUITE_P(
    Functions, Unary,
    testing::Values(
        Function{"exp", std::exp, std::exp, 0.8, 0.81, 750, -0x1.5e8856p+6, {-709.1, -708.4}},
        Function{"log", std::log, std::log, 0.85, 0.88, 1e300, 0x1.69cf3ep+0, {1.405, 1.4143}},
        Function{"tanh", std::tanh, std::tanh, 1.04, 1.2, 20, 0x1.62fe68p-3, {0.1732, 0.1737}}),
    nameOf);

} // namespace
