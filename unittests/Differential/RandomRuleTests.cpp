//===- RandomRuleTests.cpp - Random rules, compiled and interpreted ---------------------------===//
// Combinations that the shipped rules lack: odd expressions, flags and types. The seeds are fixed,
// so the number of a failure reproduces it.

#include "RandomRule.h"
#include "TransformTable.h"

#include "updraft/Frontend/Format.h"
#include "updraft/Frontend/Frontend.h"

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

TEST(RandomRule, ReducesAndStandsInEveryChain) {
  std::set<std::string> chains;
  unsigned reducing = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const RuleCase ruleCase = randomRule(seed);
    chains.insert(ruleCase.rule);
    reducing += llvm::StringRef(ruleCase.source).contains("norm(") ||
                llvm::StringRef(ruleCase.source).contains("sum(");
  }
  EXPECT_EQ(chains.size(), std::size(transformChains) + 1); // and one without a chain
  EXPECT_GE(reducing, 40u);
}

std::string ast(const std::string &source) {
  updraft::DiagnosticEngine diagnostics;
  auto program = updraft::parseProgram(source, "rule.upd", diagnostics);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (program)
    updraft::printAst(*program, os);
  return text + diagnostics.render();
}

TEST(RandomRule, FormatsAsTheSameRule) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const std::string source = randomRule(seed).source;
    updraft::DiagnosticEngine diagnostics;
    auto formatted = updraft::formatSource(source, "rule.upd", diagnostics);
    ASSERT_TRUE(formatted) << diagnostics.render() << source;
    EXPECT_EQ(ast(*formatted), ast(source));
    EXPECT_EQ(updraft::formatSource(*formatted, "rule.upd", diagnostics), formatted);
  }
}

} // namespace
