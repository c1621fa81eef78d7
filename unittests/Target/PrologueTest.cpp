//===- PrologueTest.cpp - Prologues between sweeps: reductions, scalar states, skip -----------===//

#include "JitPlan.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace updraft;
using namespace updraft::test;

namespace {

// Two prologues around a sweep with two reductions. The second one decides whether to skip the
// step.
const char *const text = R"(updraft.plan @R compute f32 matrix {
  %lr = updraft.hyper "lr" = 1.0e-1
  %step = updraft.step
  %n = updraft.size over tensor
  %columns = updraft.size over row
  %rows = updraft.size over column
  %all = updraft.size over group
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  %mu = updraft.scalar "mu" over tensor stored bf16
  %nu = updraft.scalar "nu" over group stored f32
  %xi = updraft.scalar "xi" over tensor stored f64
  updraft.initial() {
    %one = arith.constant 1.0 : f64
    updraft.yield %one, %one, %one : f64, f64, f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %a:5 = updraft.prologue(%n, %columns, %rows, %all, %mu, %step)
      : (f64, f64, f64, f64, f64, f64) -> (f32, f64, f32, f32, f32) {
  ^bb0(%0: f64, %1: f64, %2: f64, %3: f64, %m: f64, %t: f64):
    %n0 = arith.truncf %0 : f64 to f32
    %n1 = arith.truncf %1 : f64 to f32
    %n2 = arith.truncf %2 : f64 to f32
    %n3 = arith.truncf %3 : f64 to f32
    %next = arith.mulf %m, %t : f64
    updraft.yield %n0, %next, %n1, %n2, %n3 : f32, f64, f32, f32, f32
  }
  %r:2 = updraft.sweep reads(%g : !updraft.stream<f32>)
      reduces [#updraft.reduction<sum over tensor>, #updraft.reduction<max over group>]
      -> f64, f64 {
  ^bb0(%x: f32):
    %w = arith.extf %x : f32 to f64
    updraft.store reduce(%w, %w)
  }
  %b:4 = updraft.prologue(%r#1, %nu, %r#0, %lr) : (f64, f64, f64, f64) -> (f64, i1, f64, f32) {
  ^bb0(%max: f64, %v: f64, %sum: f64, %l: f64):
    %next = arith.addf %v, %max : f64
    %bad = arith.cmpf uno, %sum, %sum : f64
    %xi1 = arith.divf %l, %sum : f64
    %0 = arith.truncf %xi1 : f64 to f32
    updraft.yield %next, %bad, %xi1, %0 : f64, i1, f64, f32
  }
  updraft.sweep scalars(%b#3, %a#4, %a#0, %a#2, %a#3 : f32, f32, f32, f32, f32)
      writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32, %a4: f32, %a0: f32, %a2: f32, %a3: f32):
    %0 = arith.addf %a0, %a2 : f32
    %1 = arith.addf %a3, %a4 : f32
    %2 = arith.divf %0, %1 : f32
    %3 = arith.addf %2, %x : f32
    updraft.store %3 : f32
  }
  updraft.commit scalars(%a#1, %b#0, %b#2) skip(%b#1)
})";

class PrologueTest : public testing::Test {
protected:
  PrologueTest() : plan(text, CPUTarget::host()) {}

  void SetUp() override { ASSERT_EQ(plan.prologues.size(), 2u); }
  void run(size_t prologue) { plan.prologues[prologue](hyper, facts, reduced, scalars, row, next); }

  JitPlan plan;
  double hyper[1] = {0.25};
  double facts[UPD_TENSOR_FACTS] = {3, 0, 120, 10, 12, 1000};
  double reduced[2] = {8, 0.1};
  double scalars[3] = {1 + 1.0 / 128, 1, 5};
  double next[4] = {-7, -7, -7, -7};
  float row[11] = {-7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7};
};

} // namespace

TEST_F(PrologueTest, TheFirstWritesItsScalarsAndThatNoStepIsSkipped) {
  run(0);
  const float expected[] = {0, 120, -7, 12, 10, 1000, -7, -7, -7, -7, -7};
  EXPECT_TRUE(std::equal(std::begin(row), std::end(row), expected));
}

TEST_F(PrologueTest, ScalarStatesAreRoundedToTheirStorage) {
  run(0);
  // 3 + 3/128 has nine significant bits, and is half way between two values of bf16.
  EXPECT_EQ(next[0], 3 + 1.0 / 32);
  EXPECT_EQ(next[1], -7);
  EXPECT_EQ(next[2], -7);
  run(1);
  EXPECT_EQ(next[1], double(float(1 + 0.1)));
  EXPECT_EQ(next[2], 0.25 / 8);
  EXPECT_EQ(next[3], -7);
}

TEST_F(PrologueTest, TheSecondSeesReductionsAndSkips) {
  run(1);
  EXPECT_EQ(row[0], 0);
  EXPECT_EQ(row[5], -7);
  EXPECT_EQ(row[9], 0.25f / 8);
  reduced[0] = NAN;
  run(1);
  EXPECT_EQ(row[0], 1);
}

TEST_F(PrologueTest, APassUsesTheScalarsOfAllPrologues) {
  run(0);
  run(1);
  float param = 0;
  void *streams[] = {&param, nullptr};
  const upd_range range{0, 1};
  plan.sweeps[1](row, streams, &range, 1, nullptr, nullptr);
  EXPECT_EQ(param, (120.0f + 12.0f) / (10.0f + 1000.0f) + 0.25f / 8);
}
