//===- ErrorTests.cpp - Every diagnostic, word for word ---------------------------------------===//

#include "ErrorCases.h"

#include <gtest/gtest.h>

using namespace updraft;
using namespace updraft::test;

namespace {
class ErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(ErrorTest, SaysExactlyThis) {
  std::set<DiagnosticKind> kinds;
  EXPECT_EQ(diagnose(GetParam(), kinds), GetParam().expected);
}

std::string nameOf(const testing::TestParamInfo<ErrorCase> &info) {
  std::string name;
  for (char c : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Written, ErrorTest, testing::ValuesIn(writtenCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Generated, ErrorTest, testing::ValuesIn(generatedCases()), nameOf);

TEST(DiagnosticRegistry, EveryKindHasACase) {
  std::set<DiagnosticKind> kinds;
  for (const auto *cases : {&writtenCases(), &generatedCases()})
    for (const ErrorCase &errorCase : *cases)
      (void)diagnose(errorCase, kinds);
  // The frontend doesn't make plans. LargePlans of CAPITests tests this kind.
  kinds.insert(DiagnosticKind::PlanTooLarge);
  for (DiagnosticKind kind : allDiagnosticKinds())
    EXPECT_TRUE(kinds.count(kind)) << diagnosticName(kind).str() << " has no case";
}

// Lower case, no final period, balanced backticks.
TEST(DiagnosticRegistry, FollowsTheWordingRules) {
  for (DiagnosticKind kind : allDiagnosticKinds()) {
    llvm::StringRef format = diagnosticFormat(kind);
    EXPECT_FALSE(format.ends_with(".")) << format.str();
    EXPECT_FALSE(std::isupper(static_cast<unsigned char>(format.front()))) << format.str();
    EXPECT_EQ(format.count('`') % 2, 0u) << format.str();
  }
}
} // namespace
