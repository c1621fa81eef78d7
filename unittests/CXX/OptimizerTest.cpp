//===- OptimizerTest.cpp - updraft/Optimizer.h: creation, steps, hyperparameters --------------===//

#include "updraft/Optimizer.h"

#include "PackedRule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

using namespace updraft;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

static_assert(!std::is_copy_constructible_v<Optimizer>);
static_assert(std::is_nothrow_move_constructible_v<Optimizer>);

/// Two parameters in two groups.
class OptimizerTest : public testing::Test {
protected:
  Rule rule = test::loadAdamW();
  std::vector<float> matrix = {1, 2, 3, 4, 5, 6};
  float vector[4] = {1, 1, 1, 1};
  const std::vector<float> matrixGrad = {1, -1, 2, -2, 3, -3};
  const float vectorGrad[4] = {1, 2, 3, 4};
  Optimizer optimizer =
      Optimizer::create(
          rule, {ParamGroup{{{matrix.data(), {2, 3}}}, {{"lr", 0.5}}}, ParamGroup{{vector}}})
          .value();
  TensorList grads{{matrixGrad.data(), {2, 3}}, vectorGrad};
};

TEST_F(OptimizerTest, StepsLikeTheCApi) {
  std::vector<float> expected = matrix;
  const int64_t shape[] = {2, 3};
  upd_tensor param{};
  param.data = expected.data();
  param.shape = shape;
  param.rank = 2;
  param.device = UPD_CPU;
  upd_tensor grad = param;
  grad.data = const_cast<float *>(matrixGrad.data());
  const upd_hyper lr = {"lr", 0.5};
  const upd_group group = {&param, nullptr, 1, &lr, 1};
  upd_optimizer *other = nullptr;
  ASSERT_EQ(upd_optimizer_create(rule.get(), &group, 1, nullptr, &other), UPD_OK);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(upd_optimizer_step(other, &grad, 1), UPD_OK);
    ASSERT_TRUE(optimizer.step(grads));
    EXPECT_EQ(matrix, expected);
  }
  upd_optimizer_release(other);
  EXPECT_EQ(optimizer.paramCount(), 2u);
  EXPECT_EQ(optimizer.groupCount(), 2u);
}

TEST_F(OptimizerTest, LeavesParametersWithoutAGradient) {
  ASSERT_TRUE(optimizer.step(TensorList{{matrixGrad.data(), {2, 3}}, TensorView::absent()}));
  EXPECT_THAT(vector, Each(1));
  EXPECT_NE(matrix[0], 1);
  EXPECT_THAT(*optimizer.stepCounts(), ElementsAre(1, 0));
}

TEST_F(OptimizerTest, TakesNewAddressesOfGradients) {
  const std::vector<float> zeros(6);
  grads[0].data = const_cast<float *>(zeros.data());
  optimizer.setHyper(0, "weight_decay", 0).value();
  ASSERT_TRUE(optimizer.step(grads));
  EXPECT_THAT(matrix, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(OptimizerTest, StepsRows) {
  const int64_t rows[] = {1};
  const std::vector<float> values = {1, 1, 1};
  const TensorView view(values.data(), {1, 3});
  const upd_row_grad rowGrad = {0, rows, 1, view.get(), 0};
  ASSERT_TRUE(optimizer.stepRows({}, {rowGrad}));
  EXPECT_EQ(matrix[2], 3);
  EXPECT_NE(matrix[3], 4);
}

TEST_F(OptimizerTest, PreparesAndApplies) {
  ASSERT_TRUE(optimizer.prepare(grads));
  EXPECT_EQ(matrix[0], 1);
  ASSERT_TRUE(optimizer.apply());
  EXPECT_NE(matrix[0], 1);
  EXPECT_EQ(optimizer.apply().error().code, UPD_INVALID_ARGUMENT);
  const float before = matrix[0];
  ASSERT_TRUE(optimizer.prepareAddresses({matrixGrad.data(), nullptr}));
  ASSERT_TRUE(optimizer.apply());
  EXPECT_NE(matrix[0], before);
  EXPECT_EQ(*optimizer.stepCount(1), 1);
}

TEST_F(OptimizerTest, TellsWhatItStepped) {
  ASSERT_TRUE(optimizer.prepare(grads));
  std::atomic<uint32_t> seen = 0;
  const auto see = [&seen](Span<const uint32_t> params) {
    for (uint32_t param : params)
      seen += 1u << param;
  };
  ASSERT_TRUE(optimizer.apply(see));
  EXPECT_EQ(seen, 3u);
}

TEST_F(OptimizerTest, ReportsWrongGradients) {
  const Result<void> few = optimizer.step(TensorList{vectorGrad});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, UPD_INVALID_ARGUMENT);
  EXPECT_EQ(few.error().message, upd_last_error());
  EXPECT_FALSE(optimizer.setStream(vector)) << "a stream on the CPU";
}

TEST_F(OptimizerTest, ReportsAWrongNumberOfNames) {
  std::vector<float> data(2), more(2);
  const Result<Optimizer> created =
      Optimizer::create(rule, {ParamGroup{{data, more}, {}, {"weight"}}});
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, UPD_INVALID_ARGUMENT);
  EXPECT_EQ(created.error().message, "group 0 has 2 parameters but 1 names; give one name for each "
                                     "parameter, or none");
  EXPECT_THAT(Optimizer::create(rule, {ParamGroup{{data}, {{"rate", 1}}}}).error().message,
              HasSubstr("rate"));
}

TEST_F(OptimizerTest, SetsHyperparameters) {
  EXPECT_EQ(*optimizer.hyper(0, "lr"), 0.5);
  EXPECT_EQ(*optimizer.hyper(1, "lr"), 1e-3);
  ASSERT_TRUE(optimizer.setHyper(1, "lr", 0.25));
  EXPECT_EQ(*optimizer.hyper(1, "lr"), 0.25);
  ASSERT_TRUE(optimizer.setHypers(0, {{"lr", 1}, {"beta1", 0}}));
  EXPECT_EQ(*optimizer.hyper(0, "beta1"), 0);
  EXPECT_FALSE(optimizer.setHypers(0, {{"lr", 2}, {"beta1", 1}}));
  EXPECT_EQ(*optimizer.hyper(0, "lr"), 1);
  EXPECT_EQ(optimizer.hyper(0, "rate").error().code, UPD_NOT_FOUND);
  ASSERT_TRUE(optimizer.ignoreRequirements());
  EXPECT_TRUE(optimizer.setHyper(0, "lr", -1));
}

TEST_F(OptimizerTest, ReadsBoundNumbers) {
  float foundInf[1] = {1}, lr[1] = {0};
  optimizer.setHyper(0, "weight_decay", 0).value();
  ASSERT_TRUE(optimizer.bindFoundInf({foundInf, {}}));
  ASSERT_TRUE(optimizer.step(grads));
  EXPECT_EQ(*optimizer.stepCount(0), 0);
  ASSERT_TRUE(optimizer.unbindFoundInf());
  ASSERT_TRUE(optimizer.bindHyper(0, "lr", {lr, {}}));
  ASSERT_TRUE(optimizer.step(grads));
  EXPECT_EQ(*optimizer.stepCount(0), 1);
  EXPECT_EQ(matrix[0], 1);
  ASSERT_TRUE(optimizer.unbindHyper(0, "lr"));
  ASSERT_TRUE(optimizer.step(grads));
  EXPECT_NE(matrix[0], 1);
}

TEST_F(OptimizerTest, MayBeMoved) {
  Optimizer other = std::move(optimizer);
  ASSERT_TRUE(other.step(grads));
  optimizer = std::move(other);
  ASSERT_TRUE(optimizer.step(grads));
  EXPECT_EQ(*optimizer.stepCount(0), 2);
}

TEST_F(OptimizerTest, MayBeEmpty) {
  Optimizer empty;
  EXPECT_EQ(empty.step(grads).error().message, "optimizer is null");
  EXPECT_EQ(empty.hyper(0, "lr").error().message, "optimizer is null");
  EXPECT_EQ(empty.paramCount(), 0u);
  EXPECT_EQ(Optimizer::create(Rule(), {}).error().message, "rule is null");
}

} // namespace
