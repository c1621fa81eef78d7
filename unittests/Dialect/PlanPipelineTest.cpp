//===- PlanPipelineTest.cpp - The pipeline from rule to plan, from C++ ------------------------===//

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <chrono>

using namespace mlir;
using namespace updraft;

namespace {

constexpr const char *adamW = R"(
updraft.rule @AdamW compute f32 {
  %lr = updraft.hyper "lr" = 1.0e-03
  %beta1 = updraft.hyper "beta1" = 0.9
  %beta2 = updraft.hyper "beta2" = 0.999
  %eps = updraft.hyper "eps" = 1.0e-08
  %weight_decay = updraft.hyper "weight_decay" = 1.0e-02
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %ok = arith.cmpf oge, %lr, %zero : f64
  updraft.require %ok, "Invalid learning rate: {lr}"
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %exp_avg = updraft.state "exp_avg" stored f32 initial %zero : f32
  %exp_avg_sq = updraft.state "exp_avg_sq" stored f32 initial %zero : f32
  %step = updraft.step
  %w1 = arith.subf %one, %beta1 : f64
  %w1f = arith.truncf %w1 : f64 to f32
  %change = arith.subf %grad, %exp_avg : f32
  %weighted = arith.mulf %w1f, %change : f32
  %m = arith.addf %exp_avg, %weighted : f32
  %beta2f = arith.truncf %beta2 : f64 to f32
  %decayed = arith.mulf %beta2f, %exp_avg_sq : f32
  %w2 = arith.subf %one, %beta2 : f64
  %w2f = arith.truncf %w2 : f64 to f32
  %scaled = arith.mulf %w2f, %grad : f32
  %square = arith.mulf %scaled, %grad : f32
  %v = arith.addf %decayed, %square : f32
  %n = arith.fptosi %step : f64 to i64
  %power2 = math.fpowi %beta2, %n : f64, i64
  %bias2 = arith.subf %one, %power2 : f64
  %root2 = math.sqrt %bias2 : f64
  %root2f = arith.truncf %root2 : f64 to f32
  %root = math.sqrt %v : f32
  %corrected = arith.divf %root, %root2f : f32
  %epsf = arith.truncf %eps : f64 to f32
  %denom = arith.addf %corrected, %epsf : f32
  %power1 = math.fpowi %beta1, %n : f64, i64
  %bias1 = arith.subf %one, %power1 : f64
  %rate = arith.divf %lr, %bias1 : f64
  %minus_rate = arith.negf %rate : f64
  %minus_ratef = arith.truncf %minus_rate : f64 to f32
  %decay = arith.mulf %lr, %weight_decay : f64
  %keep = arith.subf %one, %decay : f64
  %keepf = arith.truncf %keep : f64 to f32
  %kept = arith.mulf %param, %keepf : f32
  %numerator = arith.mulf %minus_ratef, %m : f32
  %quotient = arith.divf %numerator, %denom : f32
  %next = arith.addf %kept, %quotient : f32
  updraft.next %next, %m, %v : f32, f32, f32
})";

TEST(PlanPipeline, MakesOnePassAndIsFast) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<UpdraftDialect>();
  double fastest = 1e9;
  for (int repetition = 0; repetition < 20; ++repetition) {
    auto module = parseSourceString<ModuleOp>(adamW, &context);
    ASSERT_TRUE(module);
    auto start = std::chrono::steady_clock::now();
    PassManager passes(&context);
    buildPlanPipeline(passes);
    ASSERT_TRUE(succeeded(passes.run(*module)));
    std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, taken.count());

    auto plans = formsIn<PlanOp>(*module);
    ASSERT_FALSE(plans.empty());
    auto sweepOps = (*plans.begin()).getBody().getOps<SweepOp>();
    ASSERT_EQ(std::distance(sweepOps.begin(), sweepOps.end()), 1);
    EXPECT_EQ((*sweepOps.begin()).getScalars().size(), 7u);
    EXPECT_EQ((*sweepOps.begin()).getReads().size(), 4u);
    EXPECT_EQ((*sweepOps.begin()).getWrites().size(), 3u);
  }
  RecordProperty("milliseconds", std::to_string(fastest));
#ifdef NDEBUG
  // The budget is 1 ms; a busy machine gets some more.
  EXPECT_LT(fastest, 3.0);
#endif
}

TEST(PlanPipeline, ReportsErrorsOfTheVerifier) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<UpdraftDialect>();
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  EXPECT_FALSE(parseSourceString<ModuleOp>("updraft.rule @R compute f32 {}", &context));
}

} // namespace
