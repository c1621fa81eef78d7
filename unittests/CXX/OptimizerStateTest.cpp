//===- OptimizerStateTest.cpp - updraft/Optimizer.h: states, counts, files --------------------===//

#include "updraft/Optimizer.h"

#include "PackedRule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

using namespace updraft;
using testing::Each;
using testing::ElementsAre;

namespace {

class OptimizerStateTest : public testing::Test {
protected:
  Optimizer create(std::vector<float> &values) {
    return Optimizer::create(rule, {ParamGroup{{values}, {}, {"weight"}}}).value();
  }

  Rule rule = test::loadAdamW();
  std::vector<float> values = std::vector<float>(4, 1.0f);
  const std::vector<float> grad = {1, 2, 3, 4};
  const TensorList grads{grad};
  Optimizer optimizer = create(values);
};

TEST_F(OptimizerStateTest, ShowsStates) {
  EXPECT_EQ(optimizer.state(0, "exp_avg").error().code, UPD_NOT_FOUND);
  ASSERT_TRUE(optimizer.step(grads));
  const TensorView state = optimizer.state(0, "exp_avg_sq").value();
  EXPECT_THAT(state.shape(), ElementsAre(4));
  EXPECT_NEAR((*state.elements<float>())[3], 16e-3, 1e-6);
  EXPECT_EQ(*optimizer.initialValue(0, "exp_avg"), 0);
  EXPECT_EQ(optimizer.state(0, "m").error().code, UPD_NOT_FOUND);
}

TEST_F(OptimizerStateTest, UsesTheProgramsMemory) {
  std::vector<float> first(4), second(4);
  ASSERT_TRUE(optimizer.bindState(0, "exp_avg", first));
  ASSERT_TRUE(optimizer.bindState(0, "exp_avg_sq", second));
  ASSERT_TRUE(optimizer.step(grads));
  EXPECT_NEAR(first[3], 0.4, 1e-6);
  EXPECT_EQ(optimizer.state(0, "exp_avg")->data(), first.data());
  const std::vector<float> fixed(4);
  EXPECT_FALSE(optimizer.bindState(0, "exp_avg", fixed));
}

TEST_F(OptimizerStateTest, CountsSteps) {
  ASSERT_TRUE(optimizer.step(grads));
  EXPECT_EQ(*optimizer.stepCount(0), 1);
  ASSERT_TRUE(optimizer.setStepCount(0, 7));
  EXPECT_THAT(*optimizer.stepCounts(), ElementsAre(7));
  EXPECT_FALSE(optimizer.stepCount(1));
  std::vector<float> count(1);
  EXPECT_FALSE(optimizer.bindStepCount(0, {count.data(), {}})) << "on the CPU";
}

TEST_F(OptimizerStateTest, HasASeed) {
  EXPECT_EQ(*optimizer.seed(), 0u);
  ASSERT_TRUE(optimizer.setSeed(42));
  EXPECT_EQ(*optimizer.seed(), 42u);
  EXPECT_TRUE(optimizer.setParamNumbers({3}));
  EXPECT_FALSE(optimizer.setParamNumbers({3, 4}));
}

TEST_F(OptimizerStateTest, ContinuesFromAFile) {
  const std::string path = testing::TempDir() + "updraft-cxx-states.safetensors";
  ASSERT_TRUE(optimizer.step(grads));
  ASSERT_TRUE(optimizer.setHyper(0, "lr", 0.125));
  ASSERT_TRUE(optimizer.save(path));
  std::vector<float> copy = values;
  Optimizer other = create(copy);
  ASSERT_TRUE(other.load(path));
  EXPECT_EQ(*other.hyper(0, "lr"), 0.125);
  ASSERT_TRUE(optimizer.step(grads));
  ASSERT_TRUE(other.step(grads));
  EXPECT_EQ(copy, values);
  std::remove(path.c_str());
  EXPECT_EQ(other.load(path).error().message, "there is no file `" + path + "`");
}

} // namespace
