//===- FastTests.cpp - The rewrites of the mode `fast` ----------------------------------------===//
// Compares with arithmetic of higher precision. The table of docs/numerics.md lists the rewrites,
// their error bounds, and the largest errors found here.

#include "CompiledFunction.h"
#include "UnitError.h"

#include "gtest/gtest.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <set>

using namespace updraft::math;

namespace {

/// An expression whose rewrite the table lists as `written`. `lr` is 1 but not a constant, so `lr *
/// 0.7` is a scalar of the step.
struct Rewrite {
  const char *name;
  const char *written;
  const char *expression;
  std::function<long double(long double, long double)> exact;
};

// The scalars in the prologue.
constexpr long double s = 0.7, t = 0.3;

const Rewrite rewrites[] = {
    {"QuotientByScalar", "x / s", "param / (lr * 0.7)", [](auto x, auto) { return x / s; }},
    {"ProductByScalars", "x * s * t", "param * (lr * 0.7) * (lr * 0.3)",
     [](auto x, auto) { return x * (s * t); }},
    {"ProductAndQuotient", "x * s / t", "param * (lr * 0.7) / (lr * 0.3)",
     [](auto x, auto) { return x * (s / t); }},
    {"QuotientOfScalar", "s / x * t", "lr * 0.7 / param * (lr * 0.3)",
     [](auto x, auto) { return s * t / x; }},
    {"ScaledQuotient", "x * s / y * t", "param * (lr * 0.7) / grad * (lr * 0.3)",
     [](auto x, auto y) { return x * (s * t) / y; }},
    {"ScaledTimesQuotient", "(x * s) * (t / y)", "param * (lr * 0.7) * (lr * 0.3 / grad)",
     [](auto x, auto y) { return x * (s * t) / y; }},
    {"QuotientTimesScaled", "(t / y) * (x * s)", "(lr * 0.3 / grad) * (param * (lr * 0.7))",
     [](auto x, auto y) { return x * (s * t) / y; }},
    {"SharedDivision", "(p + a / d) + b / d",
     "16 + abs(param) / abs(grad) + abs(param * 0.5) / abs(grad)",
     [](auto x, auto y) { return 16 + std::fabs(x) * 1.5L / std::fabs(y); }},
    {"SumOfProduct", "a * b + c", "param * grad + param",
     [](auto x, auto y) { return std::fma(x, y, x); }},
    {"SumWithProduct", "c + a * b", "grad + param * grad",
     [](auto x, auto y) { return std::fma(x, y, y); }},
    {"DifferenceOfProduct", "a * b - c", "param * (lr * 0.75) - grad",
     [](auto x, auto y) { return std::fma(x, 0.75L, -y); }},
    {"DifferenceWithProduct", "c - a * b", "grad - param * grad",
     [](auto x, auto y) { return std::fma(-x, y, y); }},
};

void PrintTo(const Rewrite &rewrite, std::ostream *os) { *os << rewrite.name; }

struct StatedErrors {
  double bound, largestF32, largestF64;
};

/// The table by its first column, in which several forms may share a row.
std::map<std::string, StatedErrors> readTable() {
  std::map<std::string, StatedErrors> table;
  std::ifstream page(UPDRAFT_DOCS_DIR "/numerics.md");
  const std::regex row(R"(\| (`.*`) \| .* \| ([0-9.]+)[^|]* \| ([0-9.]+) \| ([0-9.]+) \|)");
  const std::regex form("`([^`]*)`");
  bool inSection = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## "))
      inSection = line == "## The mode `fast`";
    std::smatch cells;
    if (!inSection || !std::regex_match(line, cells, row))
      continue;
    const std::string forms = cells[1];
    const StatedErrors errors{std::stod(cells[2]), std::stod(cells[3]), std::stod(cells[4])};
    for (std::sregex_iterator each(forms.begin(), forms.end(), form), end; each != end; ++each)
      table[(*each)[1]] = errors;
  }
  return table;
}

TEST(FastTable, EveryRowIsMeasured) {
  std::set<std::string> stated, measured;
  for (const auto &[written, errors] : readTable()) {
    stated.insert(written);
    EXPECT_LE(std::max(errors.largestF32, errors.largestF64), errors.bound) << written;
  }
  for (const Rewrite &rewrite : rewrites)
    measured.insert(rewrite.written);
  EXPECT_EQ(stated, measured);
}

class Fast : public testing::TestWithParam<Rewrite> {
protected:
  template <typename Real> void check(double StatedErrors::*stated) {
    constexpr int count = 1 << 18;
    std::mt19937_64 random(3);
    auto any = [&](Real &value) {
      const double mantissa = 1 + std::ldexp(double(random() >> 12), -52);
      const double magnitude = std::ldexp(mantissa, int(random() % 41) - 20);
      value = static_cast<Real>(random() & 1 ? magnitude : -magnitude);
    };
    std::vector<Real> x(count), y(count);
    std::for_each(x.begin(), x.end(), any);
    std::for_each(y.begin(), y.end(), any);
    std::vector<Real> results = x, separate = x;
    CompiledFunction<Real>(GetParam().expression, "fast").apply(results, y);
    CompiledFunction<Real>(GetParam().expression).apply(separate, y);
    LargestError<Real> largest;
    for (int i = 0; i < count; ++i)
      largest.add(unitError(results[i], Exact<Real>(GetParam().exact(x[i], y[i]))), x[i], y[i]);
    RecordProperty("largest", largest.describe());
    // The exact value is itself rounded, with an error of at most a thousandth of a unit.
    EXPECT_LE(largest.units, readTable().at(GetParam().written).*stated + 0.001)
        << largest.describe();
    EXPECT_NE(results, separate) << "nothing was rewritten";
  }
};

TEST_P(Fast, F32) { check<float>(&StatedErrors::largestF32); }
TEST_P(Fast, F64) { check<double>(&StatedErrors::largestF64); }

INSTANTIATE_TEST_SUITE_P(Rewrites, Fast, testing::ValuesIn(rewrites),
                         [](const auto &info) { return std::string(info.param.name); });

// Values without an error bound: infinities, NaNs, zeros, and divisions by zero.
TEST(FastSpecialValues, EqualIEEE) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f, -0.0f, 1.0f, -3.0f, infinity, -infinity, NAN};
  for (const char *expression : {"param / (lr * 0.7)", "param / (lr - 1)", "param * grad + param",
                                 "grad - param * grad", "lr * 0.7 / param * (lr * 0.3)"}) {
    CompiledFunction<float> fast(expression, "fast"), ieee(expression);
    for (float x : values)
      for (float y : values) {
        const float found = fast(x, y), expected = ieee(x, y);
        if (std::isnan(expected) || std::isinf(expected) || expected == 0)
          EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected)
              << expression << " of " << x << ", " << y << ": " << found << " and " << expected;
      }
  }
}

} // namespace
