//===- HostFunctionsTest.cpp - R_initial, R_validate and R_prologue0 --------------------------===//

#include "JitPlan.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace updraft;
using namespace updraft::test;

namespace {

// Host functions with a loop and with C maths, and every kind of scalar.
const char *const text = R"(updraft.plan @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-1
  %beta = updraft.hyper "beta" = 9.0e-1
  %step = updraft.step
  %first = updraft.first
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %a = updraft.stream "a" : !updraft.stream<f32>
  %b = updraft.stream "b" : !updraft.stream<f32>
  updraft.initial(%lr) {
  ^bb0(%l: f64):
    %one = arith.constant 1.0 : f64
    updraft.yield %one, %l : f64, f64
  }
  updraft.validate(%beta, %lr) messages ["beta is too small", "beta is too large", "no lr"] {
  ^bb0(%x: f64, %y: f64):
    %zero = arith.constant 0.0 : f64
    %one = arith.constant 1.0 : f64
    %0 = arith.cmpf oge, %x, %zero : f64
    %1 = arith.cmpf olt, %x, %one : f64
    %2 = arith.cmpf oge, %y, %zero : f64
    updraft.yield %0, %1, %2 : i1, i1, i1
  }
  %k:4 = updraft.prologue(%first, %beta, %step) : (i1, f64, f64) -> (f32, i1, f32, f32) {
  ^bb0(%f: i1, %x: f64, %t: f64):
    %one = arith.constant 1.0 : f64
    %zero = arith.constant 0.0 : f64
    %sum = scf.while (%power = %one, %left = %t) : (f64, f64) -> f64 {
      %more = arith.cmpf ogt, %left, %zero : f64
      scf.condition(%more) %power : f64
    } do {
    ^bb0(%power: f64):
      %next = arith.mulf %power, %x : f64
      %gone = arith.constant -1.0 : f64
      scf.yield %next, %gone : f64, f64
    }
    %0 = math.exp %x : f64
    %1 = math.tanh %x : f64
    %2 = arith.truncf %sum : f64 to f32
    %3 = arith.truncf %0 : f64 to f32
    %4 = arith.truncf %1 : f64 to f32
    updraft.yield %2, %f, %3, %4 : f32, i1, f32, f32
  }
  updraft.sweep reads(%p : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    updraft.store %x : f32
  }
})";

class HostFunctionsTest : public testing::Test {
protected:
  HostFunctionsTest() : plan(text, CPUTarget::host()) {}
  JitPlan plan;
};

} // namespace

TEST_F(HostFunctionsTest, InitialValuesComeInOrder) {
  ASSERT_TRUE(plan.initial);
  double hyper[] = {0.25, 0.5}, initial[] = {-1, -1, -1};
  plan.initial(hyper, initial);
  EXPECT_EQ(initial[0], 1.0);
  EXPECT_EQ(initial[1], 0.25);
  EXPECT_EQ(initial[2], -1.0);
}

TEST_F(HostFunctionsTest, ValidateNamesTheFirstBrokenRequirement) {
  ASSERT_TRUE(plan.validate);
  auto validate = [&](double lr, double beta) {
    double hyper[] = {lr, beta};
    return plan.validate(hyper);
  };
  EXPECT_EQ(validate(0.1, 0.9), -1);
  EXPECT_EQ(validate(0.1, -0.5), 0);
  EXPECT_EQ(validate(-1, -0.5), 0);
  EXPECT_EQ(validate(0.1, 1.0), 1);
  EXPECT_EQ(validate(-1, 0.5), 2);
  EXPECT_EQ(validate(0.1, NAN), 0);
}

TEST_F(HostFunctionsTest, PrologueFillsTheRow) {
  ASSERT_TRUE(plan.prologue);
  double hyper[] = {0.1, 0.5};
  for (double first : {0.0, 1.0}) {
    double perTensor[] = {3.0, first};
    float row[] = {7, 7, 7, 7, 7, 7};
    plan.prologue(hyper, perTensor, nullptr, nullptr, row, nullptr);
    EXPECT_EQ(row[0], 0.0f);
    EXPECT_EQ(row[1], 0.5f);
    EXPECT_EQ(row[2], float(first));
    EXPECT_EQ(row[3], float(std::exp(0.5)));
    EXPECT_EQ(row[4], float(std::tanh(0.5)));
    EXPECT_EQ(row[5], 7.0f);
  }
}

TEST(HostFunctionsOfAPlainPlanTest, DoNothing) {
  JitPlan plan(R"(updraft.plan @R compute f64 {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p : !updraft.stream<f64>) writes(%p : !updraft.stream<f64>) {
  ^bb0(%x: f64):
    updraft.store %x : f64
  }
})",
               CPUTarget::host());
  ASSERT_TRUE(plan.initial && plan.validate && plan.prologue);
  plan.initial(nullptr, nullptr);
  EXPECT_EQ(plan.validate(nullptr), -1);
  double row[] = {7, 7};
  plan.prologue(nullptr, nullptr, nullptr, nullptr, row, nullptr);
  EXPECT_EQ(row[0], 0.0);
  EXPECT_EQ(row[1], 7.0);
}

TEST(HostFunctionsOfAPlainPlanTest, RefusesARowOfAnotherType) {
  std::string message = loweringError(R"(updraft.plan @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-1
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k = updraft.prologue(%lr) : (f64) -> f64 {
  ^bb0(%a: f64):
    updraft.yield %a : f64
  }
})");
  EXPECT_EQ(message, "'updraft.prologue' op result #0 is 'f64', a row holds values of the compute "
                     "type 'f32' and flags; convert it in the prologue\n");
}
