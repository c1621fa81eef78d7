//===- OperationTests.cpp - Each operation against values computed by hand --------------------===//

#include "ParsedRule.h"

#include <cmath>
#include <limits>

using namespace updraft::reference;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

/// An operation on the parameter `%p` and the gradient `%g`. `body` ends with a value `%r` of the
/// compute type, which becomes the parameter.
struct OperationCase {
  std::string type;
  std::string body;
  double param;
  double grad;
  double expected;
};

void PrintTo(const OperationCase &operation, std::ostream *out) {
  *out << operation.body << " on " << operation.type << " " << operation.param << ", "
       << operation.grad;
}

double evaluate(const OperationCase &operation, Precision precision) {
  const std::string &type = operation.type;
  Interpreter interpreter = interpretOrDie(
      "updraft.rule @R compute " + type + " {\n %p = updraft.param stored f64 : " + type +
          "\n %g = updraft.grad stored f64 : " + type + "\n" + operation.body +
          "\n updraft.next %r : " + type + "\n}",
      precision);
  double param = operation.param, grad = operation.grad;
  interpreter.step({}, 1, false, {&param, &grad}, 1);
  return param;
}

class Operations : public testing::TestWithParam<OperationCase> {};

TEST_P(Operations, GivesTheValueByHand) {
  const double value = evaluate(GetParam(), Precision::Stated);
  if (std::isnan(GetParam().expected)) {
    EXPECT_TRUE(std::isnan(value)) << value;
    return;
  }
  EXPECT_EQ(value, GetParam().expected) << std::hexfloat << value;
  EXPECT_EQ(std::signbit(value), std::signbit(GetParam().expected));
}

std::string f32(const std::string &expression) { return "%r = " + expression + " : f32"; }

// Values that f32 represents exactly; 1 + 2^-23 is the float after 1.
const float ulp = 0x1p-23f;
const OperationCase arithmetic[] = {
    {"f32", f32("arith.addf %p, %g"), 1, 0x1p-24, 1},
    {"f32", f32("arith.addf %p, %g"), 1, 0x1.8p-24, 1.0f + ulp},
    {"f64", "%r = arith.addf %p, %g : f64", 1, 0x1p-24, 1 + 0x1p-24},
    {"f32", f32("arith.addf %p, %g"), inf, -inf, nan},
    {"f32", f32("arith.addf %p, %g"), -0.0, 0.0, 0.0},
    {"f32", f32("arith.subf %p, %g"), 1, 3, -2},
    {"f32", f32("arith.subf %p, %g"), 0x1p-149, 0x1p-149, 0.0},
    {"f32", f32("arith.mulf %p, %g"), 3, -0.5, -1.5},
    {"f32", f32("arith.mulf %p, %g"), 0x1p-100, 0x1p-49, 0x1p-149},
    {"f32", f32("arith.mulf %p, %g"), 0x1p-100, 0x1p-50, 0.0}, // a tie, to even
    {"f32", f32("arith.mulf %p, %g"), 0x1p100, 0x1p100, inf},
    {"f64", "%r = arith.mulf %p, %g : f64", 0x1p100, 0x1p100, 0x1p200},
    {"f32", f32("arith.mulf %p, %g"), 0, -inf, nan},
    {"f32", f32("arith.divf %p, %g"), 1, 3, double(1.0f / 3.0f)},
    {"f64", "%r = arith.divf %p, %g : f64", 1, 3, 1.0 / 3.0},
    {"f32", f32("arith.divf %p, %g"), -1, 0, -inf},
    {"f32", f32("arith.divf %p, %g"), 0, 0, nan},
    {"f32", f32("arith.remf %p, %g"), 7.5, 2, 1.5},
    {"f32", f32("arith.negf %p"), 0, 0, -0.0},
    {"f32", f32("arith.negf %p"), -inf, 0, inf},
};

const OperationCase extremes[] = {
    {"f32", f32("arith.maximumf %p, %g"), 1, 2, 2},
    {"f32", f32("arith.maximumf %p, %g"), nan, 2, nan},
    {"f32", f32("arith.maximumf %p, %g"), 2, nan, nan},
    {"f32", f32("arith.maximumf %p, %g"), -0.0, 0.0, 0.0},
    {"f32", f32("arith.maximumf %p, %g"), 0.0, -0.0, 0.0},
    {"f32", f32("arith.maximumf %p, %g"), -inf, -1, -1},
    {"f32", f32("arith.minimumf %p, %g"), 1, 2, 1},
    {"f32", f32("arith.minimumf %p, %g"), nan, 2, nan},
    {"f32", f32("arith.minimumf %p, %g"), 0.0, -0.0, -0.0},
    {"f32", f32("arith.minimumf %p, %g"), -0.0, 0.0, -0.0},
    {"f32", f32("arith.maxnumf %p, %g"), nan, 2, 2},
    {"f32", f32("arith.maxnumf %p, %g"), 2, nan, 2},
    {"f32", f32("arith.maxnumf %p, %g"), nan, nan, nan},
    {"f32", f32("arith.minnumf %p, %g"), nan, 2, 2},
    {"f32", f32("arith.minnumf %p, %g"), 3, 2, 2},
};

const OperationCase functions[] = {
    {"f32", f32("math.sqrt %p"), 2, 0, double(0x1.6a09e6p0f)},
    {"f64", "%r = math.sqrt %p : f64", 2, 0, 0x1.6a09e667f3bcdp0},
    {"f32", f32("math.sqrt %p"), -0.0, 0, -0.0},
    {"f32", f32("math.sqrt %p"), -1, 0, nan},
    {"f32", f32("math.absf %p"), -0.0, 0, 0.0},
    {"f32", f32("math.copysign %p, %g"), 3, -0.0, -3},
    // (1 + u)^2 - (1 + 2u) is u^2 with one rounding, and 0 with two.
    {"f32", f32("math.fma %p, %p, %g"), 1.0 + ulp, -(1.0 + 2 * ulp), 0x1p-46},
    {"f32", "%m = arith.mulf %p, %p : f32\n" + f32("arith.addf %m, %g"), 1.0 + ulp,
     -(1.0 + 2 * ulp), 0.0},
    {"f32", f32("math.floor %p"), -1.5, 0, -2},
    {"f32", f32("math.ceil %p"), -0.5, 0, -0.0},
    {"f32", f32("math.trunc %p"), -1.5, 0, -1},
    {"f32", f32("math.round %p"), 2.5, 0, 3},
    {"f32", f32("math.roundeven %p"), 2.5, 0, 2},
    {"f64", "%r = math.exp %p : f64", 1, 0, 0x1.5bf0a8b145769p1},
    {"f32", f32("math.exp %p"), 1000, 0, inf},
    {"f64", "%r = math.exp2 %p : f64", -3, 0, 0.125},
    {"f64", "%r = math.expm1 %p : f64", 0x1p-60, 0, 0x1p-60},
    {"f64", "%r = math.log %p : f64", 1, 0, 0},
    {"f64", "%r = math.log %p : f64", 0, 0, -inf},
    {"f64", "%r = math.log2 %p : f64", 8, 0, 3},
    {"f64", "%r = math.log10 %p : f64", 1000, 0, 3},
    {"f64", "%r = math.log1p %p : f64", 0x1p-60, 0, 0x1p-60},
    {"f64", "%r = math.tanh %p : f64", inf, 0, 1},
    {"f64", "%r = math.sin %p : f64", -0.0, 0, -0.0},
    {"f64", "%r = math.cos %p : f64", 0, 0, 1},
    {"f64", "%r = math.powf %p, %g : f64", 2, -0.75, 0x1.306fe0a31b715p-1},
    {"f64", "%r = math.powf %p, %g : f64", 0, 0, 1},
};

std::string powi(const std::string &type, int64_t exponent) {
  return "%n = arith.constant " + std::to_string(exponent) +
         " : i64\n%r = math.fpowi %p, %n : " + type + ", i64";
}

// 1.1^5 by squaring is 1.1 * (1.1^2)^2, which rounds differently from five multiplications.
const double squared = 1.1 * 1.1;
const OperationCase integerPowers[] = {
    {"f64", powi("f64", 0), nan, 0, 1},
    {"f64", powi("f64", 1), -3, 0, -3},
    {"f64", powi("f64", 2), -3, 0, 9},
    {"f64", powi("f64", 3), -3, 0, -27},
    {"f64", powi("f64", 5), 1.1, 0, 1.1 * (squared * squared)},
    {"f64", powi("f64", -2), 4, 0, 0.0625},
    {"f64", powi("f64", std::numeric_limits<int64_t>::min()), 1, 0, 1},
    {"f64", powi("f64", 1000000), 0.5, 0, 0},
    // The unused square must not overflow into the result.
    {"f32", powi("f32", 1), 0x1p100, 0, 0x1p100},
    {"f32", powi("f32", 2), 1.0 + ulp, 0, 1.0 + 2 * ulp},
};

std::string select(const std::string &condition) {
  return condition + "\n%one = arith.constant 1.0 : f32\n%zero = arith.constant 0.0 : f32\n"
                     "%r = arith.select %c, %one, %zero : f32";
}

// Two flags to combine: %a is p > g, %b is that neither is NaN.
const std::string flags = "%a = arith.cmpf ogt, %p, %g : f32\n"
                          "%b = arith.cmpf ord, %p, %g : f32\n";

const OperationCase choices[] = {
    {"f32", select("%c = arith.cmpf false, %p, %g : f32"), 1, 1, 0},
    {"f32", select("%c = arith.cmpf true, %p, %g : f32"), nan, 1, 1},
    {"f32", select("%c = arith.cmpf ogt, %p, %g : f32"), 2, 1, 1},
    {"f32", select("%c = arith.cmpf ogt, %p, %g : f32"), 2, nan, 0},
    {"f32", select("%c = arith.cmpf uge, %p, %g : f32"), 2, nan, 1},
    {"f32", select(flags + "%c = arith.andi %a, %b : i1"), 2, 1, 1},
    {"f32", select(flags + "%c = arith.andi %a, %b : i1"), 0, 1, 0},
    {"f32", select(flags + "%c = arith.ori %a, %b : i1"), 0, 1, 1},
    {"f32", select(flags + "%c = arith.ori %a, %b : i1"), 0, nan, 0},
    {"f32", select(flags + "%c = arith.xori %a, %b : i1"), 2, 1, 0},
    {"f32", select(flags + "%c = arith.xori %a, %b : i1"), 0, 1, 1},
    {"f32", select(flags + "%c = arith.select %a, %a, %b : i1"), 0, 1, 1},
    {"f32", select(flags + "%c = arith.select %b, %a, %b : i1"), 0, 1, 0},
    // A select returns the selected value, for any value of the other.
    {"f32", "%c = arith.cmpf oeq, %p, %p : f32\n%r = arith.select %c, %p, %g : f32", 1, nan, 1},
};

const OperationCase conversions[] = {
    {"f64", "%t = arith.truncf %p : f64 to f32\n%r = arith.extf %t : f32 to f64", 0.1, 0,
     double(0.1f)},
    {"f64", "%t = arith.truncf %p : f64 to f32\n%r = arith.extf %t : f32 to f64", 1e300, 0, inf},
    {"f64", "%i = arith.fptosi %p : f64 to i64\n%r = arith.sitofp %i : i64 to f64", -2.9, 0, -2},
    {"f64", "%i = arith.fptosi %p : f64 to i8\n%r = arith.uitofp %i : i8 to f64", -1, 0, 255},
    {"f64", "%i = arith.fptosi %p : f64 to i8\n%r = arith.sitofp %i : i8 to f64", -1, 0, -1},
    // One rounding from the integer: 2^24 + 1 is a tie.
    {"f32", "%i = arith.constant 16777217 : i64\n%r = arith.sitofp %i : i64 to f32", 0, 0,
     16777216},
    // Out of range isn't meaningful in a rule, but must not be undefined behaviour here.
    {"f64", "%i = arith.fptosi %p : f64 to i64\n%r = arith.sitofp %i : i64 to f64", 1e300, 0,
     -0x1p63},
    {"f64", "%i = arith.fptosi %p : f64 to i64\n%r = arith.sitofp %i : i64 to f64", nan, 0,
     -0x1p63},
};

std::string integers(const std::string &operations) {
  return "%a = arith.fptosi %p : f64 to i16\n%b = arith.fptosi %g : f64 to i16\n" + operations;
}

const OperationCase integerArithmetic[] = {
    {"f64", integers("%c = arith.addi %a, %b : i16\n%r = arith.sitofp %c : i16 to f64"), 32767, 1,
     -32768},
    {"f64", integers("%c = arith.subi %a, %b : i16\n%r = arith.sitofp %c : i16 to f64"), 1, 3, -2},
    {"f64", integers("%c = arith.muli %a, %b : i16\n%r = arith.sitofp %c : i16 to f64"), 256, 257,
     256},
    {"f64", integers("%c = arith.extsi %a : i16 to i32\n%r = arith.sitofp %c : i32 to f64"), -5, 0,
     -5},
    {"f64", integers("%c = arith.extui %a : i16 to i32\n%r = arith.sitofp %c : i32 to f64"), -1, 0,
     65535},
    {"f64", integers("%c = arith.trunci %a : i16 to i8\n%r = arith.sitofp %c : i8 to f64"), 255, 0,
     -1},
    {"f64", integers("%c = arith.shli %a, %b : i16\n%r = arith.sitofp %c : i16 to f64"), 3, 14,
     -16384},
    {"f64", integers("%c = arith.shrui %a, %b : i16\n%r = arith.sitofp %c : i16 to f64"), -2, 1,
     32767},
    {"f64", integers("%c = arith.shrsi %a, %b : i16\n%r = arith.sitofp %c : i16 to f64"), -5, 1,
     -3},
};

struct IntegerComparison {
  const char *predicate;
  bool less, equal, greater; // for (-1, 1), (1, 1), (1, -1)
};

TEST(Operations, CompareIntegers) {
  const IntegerComparison comparisons[] = {
      {"eq", false, true, false},  {"ne", true, false, true},   {"slt", true, false, false},
      {"sle", true, true, false},  {"sgt", false, false, true}, {"sge", false, true, true},
      {"ult", false, false, true}, {"ule", false, true, true},  {"ugt", true, false, false},
      {"uge", true, true, false},
  };
  for (const IntegerComparison &comparison : comparisons) {
    const std::string body = integers(std::string("%c = arith.cmpi ") + comparison.predicate +
                                      ", %a, %b : i16\n%r = arith.uitofp %c : i1 to f64");
    EXPECT_EQ(evaluate({"f64", body, -1, 1, 0}, Precision::Stated), comparison.less)
        << comparison.predicate;
    EXPECT_EQ(evaluate({"f64", body, 1, 1, 0}, Precision::Stated), comparison.equal)
        << comparison.predicate;
    EXPECT_EQ(evaluate({"f64", body, 1, -1, 0}, Precision::Stated), comparison.greater)
        << comparison.predicate;
  }
}

struct RealComparison {
  const char *predicate;
  bool less, equal, greater, unordered;
};

TEST(Operations, CompareReals) {
  const RealComparison comparisons[] = {
      {"false", false, false, false, false}, {"oeq", false, true, false, false},
      {"ogt", false, false, true, false},    {"oge", false, true, true, false},
      {"olt", true, false, false, false},    {"ole", true, true, false, false},
      {"one", true, false, true, false},     {"ord", true, true, true, false},
      {"ueq", false, true, false, true},     {"ugt", false, false, true, true},
      {"uge", false, true, true, true},      {"ult", true, false, false, true},
      {"ule", true, true, false, true},      {"une", true, false, true, true},
      {"uno", false, false, false, true},    {"true", true, true, true, true},
  };
  for (const RealComparison &comparison : comparisons) {
    const std::string body = std::string("%c = arith.cmpf ") + comparison.predicate +
                             ", %p, %g : f32\n%r = arith.uitofp %c : i1 to f32";
    const std::string name = comparison.predicate;
    EXPECT_EQ(evaluate({"f32", body, -1, 1, 0}, Precision::Stated), comparison.less) << name;
    EXPECT_EQ(evaluate({"f32", body, -0.0, 0, 0}, Precision::Stated), comparison.equal) << name;
    EXPECT_EQ(evaluate({"f32", body, inf, 1, 0}, Precision::Stated), comparison.greater) << name;
    EXPECT_EQ(evaluate({"f32", body, nan, 1, 0}, Precision::Stated), comparison.unordered) << name;
    EXPECT_EQ(evaluate({"f32", body, 1, nan, 0}, Precision::Stated), comparison.unordered) << name;
  }
}

TEST(Operations, KeepEveryBitInDoublePrecision) {
  EXPECT_EQ(evaluate({"f32", f32("arith.addf %p, %g"), 1, 0x1p-40, 0}, Precision::Double),
            1 + 0x1p-40);
  EXPECT_EQ(evaluate({"f64", "%t = arith.truncf %p : f64 to f32\n%r = arith.extf %t : f32 to f64",
                      0.1, 0, 0},
                     Precision::Double),
            0.1);
  EXPECT_EQ(evaluate({"f32", f32("math.sqrt %p"), 2, 0, 0}, Precision::Double), std::sqrt(2.0));
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, Operations, testing::ValuesIn(arithmetic));
INSTANTIATE_TEST_SUITE_P(Extremes, Operations, testing::ValuesIn(extremes));
INSTANTIATE_TEST_SUITE_P(Functions, Operations, testing::ValuesIn(functions));
INSTANTIATE_TEST_SUITE_P(IntegerPowers, Operations, testing::ValuesIn(integerPowers));
INSTANTIATE_TEST_SUITE_P(Choices, Operations, testing::ValuesIn(choices));
INSTANTIATE_TEST_SUITE_P(Conversions, Operations, testing::ValuesIn(conversions));
INSTANTIATE_TEST_SUITE_P(IntegerArithmetic, Operations, testing::ValuesIn(integerArithmetic));

} // namespace
