//===- RandomRuleTests.cpp - Random rules, compiled and interpreted ---------------------------===//
// What the shipped rules never combine: odd expressions, flags and types. The seeds are fixed, so a
// failure is found again by its number.

#include "RandomRule.h"

#include <set>

using namespace updraft::differential;

namespace {

constexpr uint64_t rulesPerTest = 25;

class RandomRules : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomRules, StepAsInterpreted) {
  for (uint64_t i = 0; i < rulesPerTest; ++i) {
    const RuleCase ruleCase = randomRule(GetParam() * rulesPerTest + i);
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase)) << ruleCase.source;
  }
}

INSTANTIATE_TEST_SUITE_P(Random, RandomRules, testing::Range<uint64_t>(0, 16));

TEST(RandomRule, IsTheSameForTheSameSeed) {
  std::set<std::string> sources;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(randomRule(seed).source, randomRule(seed).source);
    sources.insert(randomRule(seed).source);
  }
  EXPECT_EQ(sources.size(), 50u);
}

} // namespace
