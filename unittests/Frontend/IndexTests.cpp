//===- IndexTests.cpp - The editor index of whole and damaged files ---------------------------===//
// test/Tools/updraft-lsp tests the answers for each name, through the server.

#include "updraft/Frontend/Format.h"
#include "updraft/Frontend/Frontend.h"
#include "updraft/Frontend/Index.h"

#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

using namespace updraft;
using llvm::StringRef;

namespace {
std::vector<std::string> ruleFiles() {
  std::vector<std::string> texts;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(UPDRAFT_RULES_DIR)) {
    if (entry.path().extension() != ".upd")
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(entry.path().string());
    EXPECT_TRUE(static_cast<bool>(buffer));
    texts.push_back((*buffer)->getBuffer().str());
  }
  return texts;
}

TEST(Index, HasTheErrorsOfParseProgram) {
  for (const char *text :
       {"fn f(x) = y", "rule R(", "fn f(x) = \"", "rule R() {}", "fn f(x) = x"}) {
    DiagnosticEngine parsed, analyzed;
    parseProgram(text, "rule.upd", parsed);
    Analysis analysis = analyzeProgram(text, "rule.upd", {}, analyzed);
    EXPECT_EQ(analyzed.render(), parsed.render());
    EXPECT_TRUE(analysis.program);
  }
}

TEST(Index, ContinuesAfterErrors) {
  DiagnosticEngine diagnostics;
  StringRef text =
      "fn f(x) = x $ 1\nrule R(lr = 1) { update(param) { let a = lr let b = let c = a } }";
  Analysis analysis = analyzeProgram(text, "rule.upd", {}, diagnostics);
  EXPECT_TRUE(diagnostics.hasErrors());
  const SourceFile &file = *analysis.program->main().source;
  const Index::Use *use = analysis.index.useAt(file, text.rfind("= a") + 2);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->declared.begin, text.find("a = lr"));
  EXPECT_EQ(analysis.index.typeAt(use->range), "a scalar");
}

TEST(Index, HasTheTypesThatAFunctionIsCalledWith) {
  DiagnosticEngine diagnostics;
  StringRef text = "fn f(x) = x * x fn g(x) = x + 1\n"
                   "rule R(lr = 1) { update(param) { next param = f(param) * f(lr) } }";
  Analysis analysis = analyzeProgram(text, "rule.upd", {}, diagnostics);
  const SourceFile &file = *analysis.program->main().source;
  auto typeAt = [&](size_t offset) {
    return analysis.index.typeAt(analysis.index.typedPlaceAt(file, offset));
  };
  EXPECT_EQ(typeAt(text.find("* x")), "a scalar or a tensor");
  EXPECT_EQ(typeAt(text.find("+ 1")), "a number");
  EXPECT_EQ(typeAt(text.find("f(lr")), "a scalar");
}

TEST(Index, HasTheNamesOfRepeat) {
  DiagnosticEngine diagnostics;
  StringRef text = "fn f(x, l) {\n"
                   "  repeat y = x for (a, b) in l {\n"
                   "    let c = a * y\n"
                   "    next y = c + b\n"
                   "  }\n"
                   "  return -y\n"
                   "}\n"
                   "rule R(lr = 1) {\n"
                   "  update(param, grad) {\n"
                   "    repeat z = lr for d in [1, 2] { next z = d * z * grad }\n"
                   "    next param = f(param, [(1, 2)]) - z\n"
                   "  }\n"
                   "}";
  Analysis analysis = analyzeProgram(text, "rule.upd", {}, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  const SourceFile &file = *analysis.program->main().source;
  const auto declaredAt = [&](StringRef use, size_t skip) -> size_t {
    const Index::Use *found = analysis.index.useAt(file, text.find(use) + skip);
    return found ? size_t(found->declared.begin) : StringRef::npos;
  };
  EXPECT_EQ(declaredAt("in l", 3), text.find("l)"));
  EXPECT_EQ(declaredAt("= x", 2), text.find("x, l"));
  EXPECT_EQ(declaredAt("a * y", 0), text.find("a, b"));
  EXPECT_EQ(declaredAt("a * y", 4), text.find("y = x"));
  EXPECT_EQ(declaredAt("next y", 5), text.find("y = x"));
  EXPECT_EQ(declaredAt("c + b", 0), text.find("c = a"));
  EXPECT_EQ(declaredAt("c + b", 4), text.find("b) in"));
  EXPECT_EQ(declaredAt("-y", 1), text.find("y = x"));
  EXPECT_EQ(declaredAt("next z", 5), text.find("z = lr"));
  EXPECT_EQ(declaredAt("d * z", 0), text.find("d in"));
  EXPECT_EQ(declaredAt("- z", 2), text.find("z = lr"));
  const auto typeAt = [&](size_t offset) {
    return analysis.index.typeAt(analysis.index.typedPlaceAt(file, offset));
  };
  EXPECT_EQ(typeAt(text.rfind("z\n")), "a tensor");
  EXPECT_EQ(typeAt(text.find("d * z")), "a scalar");
}

// For any text, there are answers inside the text.
TEST(Index, SurvivesDamage) {
  std::mt19937 random(6);
  const char *const words[] = {"(",           ")",       "{",        "}",      "if ",
                               " then ",      "let ",    "next ",    "rule R", "fn f",
                               "transform T", "update(", "\"",       "//",     "|>",
                               "state ",      ":",       "over",     "\xC3",   "import \"x\"",
                               "finish",      "=",       "require ", "\n",     "repeat ",
                               " for ",       " in ",    "[",        "]",      "@"};
  for (const std::string &whole : ruleFiles()) {
    for (int i = 0; i < 150; ++i) {
      std::string text = whole.substr(0, i % 3 ? whole.size() : random() % whole.size());
      for (int n = random() % 4; n > 0; --n) {
        size_t at = random() % (text.size() + 1);
        text.replace(at, random() % 20, words[random() % std::size(words)]);
      }
      SCOPED_TRACE(text);
      DiagnosticEngine diagnostics;
      Analysis analysis = analyzeProgram(text, "rule.upd", {}, diagnostics);
      const SourceFile &file = *analysis.program->main().source;
      for (const Declaration &declaration : declarationsOf(analysis.program->main())) {
        ASSERT_LE(declaration.name.range.end, declaration.extent.end);
        ASSERT_LE(declaration.extent.end, text.size());
        ASSERT_FALSE(headOf(declaration).empty());
        commentAbove(declaration.name.range);
        for (const Declaration &part : declaration.parts) {
          ASSERT_LE(part.name.range.end, part.extent.end);
          ASSERT_LE(part.extent.end, text.size());
          headOf(part);
        }
      }
      for (size_t offset = 0; offset <= text.size(); offset += 7) {
        if (const Index::Use *use = analysis.index.useAt(file, offset)) {
          ASSERT_LE(use->range.end, text.size());
        }
        analysis.index.typeAt(analysis.index.typedPlaceAt(file, offset));
      }
      // A valid text can be formatted without changing its meaning.
      DiagnosticEngine unformatted;
      ASSERT_TRUE(formatSource(text, "rule.upd", unformatted) || unformatted.hasErrors());
    }
  }
}
} // namespace
