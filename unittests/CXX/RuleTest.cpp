//===- RuleTest.cpp - updraft/Rule.h ----------------------------------------------------------===//

#include "PackedRule.h"

#include "updraft-c/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace updraft;
using testing::HasSubstr;

namespace {

static_assert(!std::is_copy_constructible_v<Rule> && std::is_nothrow_move_constructible_v<Rule>);

TEST(Rule, DescribesItself) {
  const Rule rule = test::loadAdamW();
  EXPECT_EQ(rule.name(), "AdamW");
  EXPECT_EQ(rule.origin(), UPD_FROM_PACKAGE);
  EXPECT_EQ(rule.paramDtype(), UPD_F32);
  EXPECT_EQ(rule.gradDtype(), UPD_F32);
  EXPECT_EQ(rule.computeDtype(), UPD_F32);
  EXPECT_EQ(rule.device(), UPD_CPU);
  EXPECT_EQ(rule.numerics(), "ieee");
  EXPECT_EQ(rule.dependsOn(), UPD_EXTENT_ELEMENT);
  EXPECT_FALSE(rule.usesRows());
  EXPECT_EQ(rule.target(), upd_rule_target(rule.get()));
  EXPECT_EQ(rule.descriptor(), upd_rule_descriptor(rule.get(), nullptr));
  EXPECT_THAT(rule.interfaceJson(), HasSubstr("AdamW"));
}

TEST(Rule, ListsHyperparametersStatesAndFlags) {
  const Rule rule = test::loadAdamW();
  const std::vector<Rule::HyperInfo> hypers = rule.hypers();
  ASSERT_EQ(hypers.size(), 5u);
  EXPECT_EQ(hypers[0].name, "lr");
  EXPECT_EQ(hypers[0].defaultValue, 1e-3);
  EXPECT_FALSE(hypers[0].decidesFlag);
  const std::vector<Rule::StateInfo> states = rule.states();
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1].name, "exp_avg_sq");
  EXPECT_EQ(states[1].dtype, UPD_F32);
  EXPECT_EQ(states[1].extent, UPD_EXTENT_ELEMENT);
  EXPECT_EQ(states[1].tensors, UPD_ALL_TENSORS);
  const std::vector<Rule::StaticInfo> statics = rule.statics();
  ASSERT_EQ(statics.size(), 2u);
  EXPECT_EQ(statics[0].name, "amsgrad");
  EXPECT_EQ(statics[0].value, "false");
}

TEST(Rule, ChecksHyperparameters) {
  const Rule rule = test::loadAdamW();
  EXPECT_TRUE(rule.checkHypers({{"lr", 0.5}, {"eps", 0}}));
  const Result<void> negative = rule.checkHypers({{"lr", -1}});
  EXPECT_EQ(negative.error().code, UPD_INVALID_ARGUMENT);
  EXPECT_THAT(negative.error().message, HasSubstr("Invalid learning rate: -1"));
  EXPECT_EQ(rule.checkHypers({{"rate", 1}}).error().code, UPD_NOT_FOUND);
}

TEST(Rule, MayBeEmpty) {
  const Rule rule;
  EXPECT_EQ(rule.name(), "");
  EXPECT_TRUE(rule.hypers().empty());
  EXPECT_EQ(rule.checkHypers({}).error().message, "rule is null");
}

} // namespace
