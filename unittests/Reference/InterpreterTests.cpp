//===- InterpreterTests.cpp - Whole rules against plain C++ -----------------------------------===//

#include "ParsedRule.h"

#include "gmock/gmock.h"

#include <chrono>
#include <cmath>

using namespace updraft::reference;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

// Momentum whose first buffer is the gradient, with torch's order of operations.
const char *const momentumRule = R"(
updraft.rule @SGD compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-03
  %momentum = updraft.hyper "momentum" = 0.9
  %start = updraft.hyper "start" = 0.25
  %first = updraft.first
  %half = arith.constant 0.5 : f64
  %initial = arith.mulf %start, %half : f64
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %lr_ok = arith.cmpf oge, %lr, %zero : f64
  updraft.require %lr_ok, "Invalid learning rate: {lr}"
  %momentum_ok = arith.cmpf olt, %momentum, %one : f64
  updraft.require %momentum_ok, "Invalid momentum value: {momentum}"
  %g = updraft.grad stored bf16 : f32
  %p = updraft.param stored f32 : f32
  %buf = updraft.state "momentum_buffer" stored f16 initial %initial : f32
  %mu = arith.truncf %momentum : f64 to f32
  %scaled = arith.mulf %mu, %buf : f32
  %sum = arith.addf %scaled, %g : f32
  %next = arith.select %first, %g, %sum : f32
  %rate = arith.truncf %lr : f64 to f32
  %d = arith.mulf %rate, %next : f32
  %n = arith.subf %p, %d : f32
  updraft.next %n, %next : f32, f32
})";

TEST(Interpreter, DescribesItsRule) {
  Interpreter rule = interpretOrDie(momentumRule);
  EXPECT_THAT(rule.hyperNames(), ElementsAre("lr", "momentum", "start"));
  EXPECT_THAT(rule.hyperDefaults(), ElementsAre(1e-3, 0.9, 0.25));
  ASSERT_EQ(rule.streams().size(), 3u);
  EXPECT_EQ(rule.stateCount(), 1u);
  EXPECT_EQ(rule.streams()[0].name, "param");
  EXPECT_EQ(rule.streams()[0].format, StorageFormat::F32);
  EXPECT_EQ(rule.streams()[1].name, "grad");
  EXPECT_EQ(rule.streams()[1].format, StorageFormat::BF16);
  EXPECT_EQ(rule.streams()[2].name, "momentum_buffer");
  EXPECT_EQ(rule.streams()[2].format, StorageFormat::F16);
}

TEST(Interpreter, KeepsEveryBufferInDoubles) {
  Interpreter rule = interpretOrDie(momentumRule, Precision::Double);
  for (const Stream &stream : rule.streams())
    EXPECT_EQ(stream.format, StorageFormat::F64);
}

TEST(Interpreter, ComputesInitialStates) {
  Interpreter rule = interpretOrDie(momentumRule);
  EXPECT_THAT(rule.initialStates({1e-3, 0.9, 0.25}), ElementsAre(0.125));
  EXPECT_THAT(rule.initialStates({1e-3, 0.9, 3.0}), ElementsAre(1.5));
}

TEST(Interpreter, NamesTheFirstBrokenRequirement) {
  Interpreter rule = interpretOrDie(momentumRule);
  EXPECT_FALSE(rule.firstBrokenRequirement({1e-3, 0.9, 0}));
  auto broken = rule.firstBrokenRequirement({1e-3, 1.0, 0});
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->index, 1u);
  EXPECT_EQ(broken->message, "Invalid momentum value: {momentum}");
  broken = rule.firstBrokenRequirement({-1, 1.0, 0});
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->index, 0u);
  EXPECT_TRUE(rule.firstBrokenRequirement({NAN, 0.9, 0}));
}

TEST(Interpreter, StepsAsPlainCode) {
  Interpreter rule = interpretOrDie(momentumRule);
  constexpr int count = 37;
  std::vector<float> param(count), expected(count);
  std::vector<uint16_t> grad(count), state(count);
  std::vector<double> expectedState(count);
  for (int i = 0; i < count; ++i) {
    expected[i] = param[i] = 0.37f * float(i) - 3;
    storeElement(StorageFormat::BF16, grad.data(), i, std::sin(double(i)));
    storeElement(StorageFormat::F16, state.data(), i, 1.0);
    expectedState[i] = 1.0;
  }
  const std::vector<uint16_t> gradBefore = grad;
  for (int step = 1; step <= 4; ++step) {
    const double lr = 0.1 / step;
    rule.step({lr, 0.9, 0}, step, step == 1, {param.data(), grad.data(), state.data()}, count);
    for (int i = 0; i < count; ++i) {
      const float g = float(loadElement(StorageFormat::BF16, grad.data(), i));
      const float product = float(0.9) * float(expectedState[i]);
      const float next = step == 1 ? g : product + g;
      const float change = float(lr) * next; // the unrounded state, not the stored one
      expected[i] = expected[i] - change;
      uint16_t stored;
      storeElement(StorageFormat::F16, &stored, 0, next);
      expectedState[i] = loadElement(StorageFormat::F16, &stored, 0);
      EXPECT_EQ(param[i], expected[i]) << "step " << step << ", element " << i;
      EXPECT_EQ(loadElement(StorageFormat::F16, state.data(), i), expectedState[i]);
    }
  }
  EXPECT_EQ(grad, gradBefore);
}

TEST(Interpreter, ComputesScalarsInDouble) {
  // (1 - 2^-30) ^ step in f64, rounded only when combined with the element.
  Interpreter rule = interpretOrDie(R"(
updraft.rule @Power compute f32 {
  %beta = updraft.hyper "beta" = 0.9
  %step = updraft.step
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %n = arith.fptosi %step : f64 to i64
  %power = math.fpowi %beta, %n : f64, i64
  %one = arith.constant 1.0 : f64
  %correction = arith.subf %one, %power : f64
  %c = arith.truncf %correction : f64 to f32
  %r = arith.mulf %p, %c : f32
  updraft.next %r : f32
})");
  const double beta = 1 - 0x1p-30;
  float param = 1, grad = 0;
  rule.step({beta}, 3, false, {&param, &grad}, 1);
  EXPECT_EQ(param, float(1 - beta * (beta * beta)));
  EXPECT_NE(param, 0);
}

TEST(Interpreter, RoundsLoadedElementsToTheComputeType) {
  Interpreter rule = interpretOrDie(R"(
updraft.rule @Copy compute f32 {
  %p = updraft.param stored f64 : f32
  %g = updraft.grad stored f64 : f32
  updraft.next %g : f32
})");
  double param = 0, grad = 0.1;
  rule.step({}, 1, false, {&param, &grad}, 1);
  EXPECT_EQ(param, double(0.1f));
}

TEST(Interpreter, StoresNothingForNoElements) {
  Interpreter rule = interpretOrDie(momentumRule);
  float param = 1;
  rule.step({1, 0, 0}, 1, true, {&param, nullptr, nullptr}, 0);
  EXPECT_EQ(param, 1);
}

std::string refusal(const std::string &operations) {
  llvm::Expected<Interpreter> rule = interpret(R"(updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    )" + operations + R"(
    updraft.next %p : f32
  })");
  return rule ? "accepted" : llvm::toString(rule.takeError());
}

TEST(Interpreter, NamesAnOperationItDoesNotKnow) {
  EXPECT_EQ(refusal("%e = math.erf %p : f32"),
            "the reference interpreter does not know `math.erf`");
  EXPECT_EQ(refusal("%i = arith.constant 1 : i64\n%e = math.ctpop %i : i64"),
            "the reference interpreter does not know `math.ctpop`");
}

TEST(Interpreter, NamesATypeItDoesNotKnow) {
  EXPECT_EQ(
      refusal("%e = arith.truncf %p : f32 to bf16"),
      "`arith.truncf` has a result of type `bf16`; the reference interpreter runs f32, f64 and "
      "integers of at most 64 bits");
  EXPECT_EQ(refusal("%e = arith.constant 1 : i128"),
            "`arith.constant` has a result of type `i128`; the reference interpreter runs f32, f64 "
            "and integers of at most 64 bits");
}

TEST(Interpreter, RunsAHundredThousandElementsInWellUnderASecond) {
  Interpreter rule = interpretOrDie(momentumRule);
  constexpr int64_t count = 100003;
  std::vector<float> param(count, 1);
  std::vector<uint16_t> grad(count, 0x3f80), state(count, 0x3c00);
  const auto start = std::chrono::steady_clock::now();
  rule.step({1e-3, 0.9, 0}, 2, false, {param.data(), grad.data(), state.data()}, count);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 1);
  RecordProperty("seconds", std::to_string(seconds.count()));
  EXPECT_NE(param.back(), 1);
}

} // namespace
