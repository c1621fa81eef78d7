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

std::shared_ptr<const SourceMap> mapOf(std::vector<SourceMap::Span> spans, size_t textSize) {
  auto map = SourceMap::create({SourceFile::create("rule.py", "def rule():\n    return 2 * grda\n"),
                                SourceFile::create("other.py", "x")},
                               std::move(spans), textSize);
  EXPECT_TRUE(static_cast<bool>(map));
  return map ? *map : nullptr;
}

std::string refusalOf(std::vector<SourceMap::Span> spans, size_t textSize = 10) {
  auto map = SourceMap::create({SourceFile::create("a.py", "text")}, std::move(spans), textSize);
  return map ? "" : llvm::toString(map.takeError());
}

TEST(SourceMap, ShowsWhereAGeneratedTextComesFrom) {
  auto file =
      SourceFile::create("<rule>", "next param = 2 * grda", mapOf({{13, 21, 0, 23, 31}}, 21));
  DiagnosticEngine diagnostics;
  diagnostics.report(DiagnosticKind::UnknownName, {file.get(), 17, 21}, "grda", "")
      .note(DiagnosticKind::DeclaredHere, {file.get(), 0, 4}, "x");
  EXPECT_EQ(diagnostics.render(), "rule.py:2:12: error: unknown name `grda`\n"
                                  "    return 2 * grda\n"
                                  "           ^~~~~~~~\n"
                                  "<rule>:1:1: note: `x` is declared here\n"
                                  "next param = 2 * grda\n"
                                  "^~~~\n");
}

TEST(SourceMap, TheInnermostSpanAroundARangeDecides) {
  // [0, 20) contains [2, 10), which contains [2, 4) and [5, 8). [12, 15) is separate.
  auto file = SourceFile::create(
      "<rule>", std::string(30, 'x'),
      mapOf(
          {{0, 20, 0, 0, 1}, {2, 10, 0, 1, 2}, {2, 4, 0, 2, 3}, {5, 8, 0, 3, 4}, {12, 15, 1, 0, 1}},
          30));
  auto originOf = [&](uint32_t begin, uint32_t end) {
    SourceRange origin = SourceRange{file.get(), begin, end}.origin();
    return origin.file->path() + ":" + std::to_string(origin.begin);
  };
  EXPECT_EQ(originOf(2, 4), "rule.py:2");
  EXPECT_EQ(originOf(2, 6), "rule.py:1");
  EXPECT_EQ(originOf(3, 3), "rule.py:2");
  EXPECT_EQ(originOf(4, 5), "rule.py:1");
  EXPECT_EQ(originOf(6, 7), "rule.py:3");
  EXPECT_EQ(originOf(8, 9), "rule.py:1");
  EXPECT_EQ(originOf(10, 11), "rule.py:0");
  EXPECT_EQ(originOf(12, 13), "other.py:0");
  // No span contains all of it.
  EXPECT_EQ(originOf(13, 25), "other.py:0");
  EXPECT_EQ(originOf(20, 21), "<rule>:20");
}

TEST(SourceMap, NotesTheCallsDirectlyAroundAPlace) {
  // `x` comes from other.py, called as `f`, which is called as `m.g`. `m.g()` doesn't cover all of
  // it.
  auto map = SourceMap::create({SourceFile::create("rule.py", "a + m.g()\nb = f (\n1)\n"),
                                SourceFile::create("other.py", "x")},
                               {{0, 5, 0, 4, 9, true},
                                {0, 5, 0, 0, 9},
                                {4, 5, 0, 4, 9, true},
                                {4, 5, 0, 14, 20, true},
                                {4, 5, 1, 0, 1}},
                               5);
  ASSERT_TRUE(static_cast<bool>(map));
  auto file = SourceFile::create("<rule>", "a + x", *map);
  DiagnosticEngine diagnostics;
  diagnostics.report(DiagnosticKind::UnknownName, {file.get(), 4, 5}, "x", "")
      .note(DiagnosticKind::DeclaredHere, {file.get(), 0, 1}, "a");
  EXPECT_EQ(diagnostics.render(),
            "other.py:1:1: error: unknown name `x`\nx\n^\n"
            "rule.py:2:5: note: in this call of `f`\nb = f (\n    ^~~\n"
            "rule.py:1:5: note: in this call of `m.g`\na + m.g()\n    ^~~~~\n"
            "rule.py:1:1: note: `a` is declared here\na + m.g()\n^~~~~~~~~\n");
}

TEST(SourceMap, RefusesSpansOutOfRange) {
  EXPECT_EQ(refusalOf({{0, 10, 0, 0, 4}, {0, 10, 0, 0, 0}}), "");
  EXPECT_EQ(refusalOf({{0, 11, 0, 0, 4}}), "span 0 is [0, 11) of a text of 10 bytes");
  EXPECT_EQ(refusalOf({{3, 2, 0, 0, 4}}), "span 0 is [3, 2) of a text of 10 bytes");
  EXPECT_EQ(refusalOf({{0, 1, 1, 0, 4}}), "span 0 is from file 1, but there are 1");
  EXPECT_EQ(refusalOf({{0, 1, 0, 0, 5}}), "span 0 is from [0, 5) of a file of 4 bytes");
  EXPECT_EQ(refusalOf({{0, 1, 0, 3, 2}}), "span 0 is from [3, 2) of a file of 4 bytes");
  EXPECT_EQ(refusalOf({{2, 3, 0, 0, 1}, {1, 2, 0, 0, 1}}),
            "span 1 begins before span 0; give spans in the order of their begin");
  EXPECT_EQ(refusalOf({{0, 9, 0, 0, 1}, {1, 5, 0, 0, 1}, {4, 6, 0, 0, 1}}),
            "span 2 ends after span 1, in which it begins; spans lie within each other or apart, "
            "the outer one first");
  EXPECT_EQ(refusalOf({{0, 5, 0, 0, 1}, {0, 6, 0, 0, 1}}),
            "span 1 ends after span 0, in which it begins; spans lie within each other or apart, "
            "the outer one first");
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
