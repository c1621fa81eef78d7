//===- DiagnosticsTests.cpp - Source positions, rendering, near names -------------------------===//

#include "updraft/Support/Diagnostics.h"

#include <gtest/gtest.h>

using namespace updraft;

namespace {
TEST(SourceFile, FindsLinesAndColumns) {
  auto file = SourceFile::create("a.upd", "one\ntwo\r\n\nfour");
  EXPECT_EQ(file->position(0).line, 1u);
  EXPECT_EQ(file->position(5).line, 2u);
  EXPECT_EQ(file->position(5).column, 2u);
  EXPECT_EQ(file->position(13).line, 4u);
  EXPECT_EQ(file->line(2), "two");
  EXPECT_EQ(file->line(3), "");
  EXPECT_EQ(file->line(4), "four");
  EXPECT_EQ(file->line(5), "");
  EXPECT_EQ(file->line(0), "");
}

TEST(DiagnosticEngine, KeepsTheTextAfterItsOwnerIsGone) {
  DiagnosticEngine diagnostics;
  {
    auto file = SourceFile::create("a.upd", "abc");
    diagnostics.report(DiagnosticKind::UnknownName, {file.get(), 1, 2}, "b", "");
  }
  EXPECT_EQ(diagnostics.render(), "a.upd:1:2: error: unknown name `b`\nabc\n ^\n");
}

TEST(DiagnosticEngine, ShowsTheSurroundingsInALongLine) {
  auto file = SourceFile::create("a.upd", std::string(30000, 'a') + "b" + std::string(30000, 'c'));
  DiagnosticEngine diagnostics;
  diagnostics.report(DiagnosticKind::UnknownName, {file.get(), 30000, 30001}, "b", "");
  EXPECT_EQ(diagnostics.render(), "a.upd:1:30001: error: unknown name `b`\n" +
                                      std::string(120, 'a') + "b" + std::string(119, 'c') + "\n" +
                                      std::string(120, ' ') + "^\n");
}

TEST(DiagnosticEngine, ReportsTheSameOnce) {
  auto file = SourceFile::create("a.upd", "abc");
  DiagnosticEngine diagnostics;
  EXPECT_FALSE(diagnostics.hasErrors());
  for (int i = 0; i < 3; ++i)
    diagnostics.report(DiagnosticKind::UnknownName, {file.get(), 1, 2}, "b", "");
  EXPECT_EQ(diagnostics.diagnostics().size(), 1u);
}

TEST(DiagnosticEngine, MarksOneLineOfARangeOverSeveral) {
  auto file = SourceFile::create("a.upd", "ab\ncd");
  DiagnosticEngine diagnostics;
  diagnostics.report(DiagnosticKind::UnknownName, {file.get(), 1, 5}, "x", "");
  EXPECT_EQ(diagnostics.render(), "a.upd:1:2: error: unknown name `x`\nab\n ^\n");
}

TEST(NearestName, IsNearEnoughToBeMeant) {
  EXPECT_EQ(nearestName("exp_avgsq", {"exp_avg", "exp_avg_sq", "grad"}), "exp_avg_sq");
  EXPECT_EQ(nearestName("SDG", {"SGD", "Adam"}), "SGD");
  EXPECT_EQ(nearestName("LR", {"lr"}), "lr");
  EXPECT_EQ(nearestName("beta3", {"beta1", "beta2"}), "beta1");
  EXPECT_EQ(nearestName("x", {"y"}), "");
  EXPECT_EQ(nearestName("momentum", {"grad"}), "");
  EXPECT_EQ(nearestName("a", {}), "");
}
} // namespace
