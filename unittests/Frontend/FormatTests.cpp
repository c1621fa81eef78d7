//===- FormatTests.cpp - Formatting keeps the meaning of a file -------------------------------===//
// The layout itself is tested in test/Tools/updraft-format.

#include "Words.h"

#include "updraft/Frontend/Format.h"
#include "updraft/Frontend/Frontend.h"

#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

using namespace updraft;
using llvm::StringRef;

namespace {
std::string ast(StringRef text, StringRef filename) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram(text, filename, diagnostics);
  if (!program)
    return diagnostics.render();
  std::string result;
  llvm::raw_string_ostream os(result);
  printAst(*program, os);
  return result;
}

std::string format(StringRef text) {
  DiagnosticEngine diagnostics;
  auto formatted = formatSource(text, "rule.upd", diagnostics);
  EXPECT_TRUE(formatted) << diagnostics.render() << text.str();
  return formatted.value_or("");
}

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(static_cast<bool>(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : "";
}

// Every rule file and every example of the documentation, with a name.
std::vector<std::pair<std::string, std::string>> allSources() {
  std::vector<std::pair<std::string, std::string>> sources;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(UPDRAFT_RULES_DIR))
    if (entry.path().extension() == ".upd")
      sources.emplace_back(entry.path().string(), readFile(entry.path().string()));
  for (const auto &entry : std::filesystem::recursive_directory_iterator(UPDRAFT_DOCS_DIR)) {
    if (entry.path().extension() != ".md")
      continue;
    std::string page = readFile(entry.path().string());
    StringRef rest = page;
    while (rest.contains("```upd\n")) {
      auto [block, after] = rest.split("```upd\n").second.split("```");
      sources.emplace_back(entry.path().string(), block.str());
      rest = after;
    }
  }
  return sources;
}

TEST(Format, KeepsTheTree) {
  auto sources = allSources();
  EXPECT_GE(sources.size(), 16u);
  for (const auto &[name, text] : sources) {
    SCOPED_TRACE(name);
    std::string formatted = format(text);
    EXPECT_EQ(ast(formatted, name), ast(text, name));
    EXPECT_EQ(format(formatted), formatted);
  }
}

// The examples show the style.
TEST(Format, LeavesTheDocumentationUnchanged) {
  for (const auto &[name, text] : allSources())
    EXPECT_EQ(format(text), text) << name;
}

std::string separator(std::mt19937 &random) {
  switch (random() % 24) {
  case 0:
    return " // c" + std::to_string(random() % 1000) + "\n";
  case 1:
    return "\n\n//c" + std::to_string(random() % 1000) + " \t\r\n";
  case 2:
    return "\n // d\n\n   // e\n";
  case 3:
  case 4:
    return "\n";
  case 5:
    return "\n\n\n";
  default:
    return random() % 2 ? " " : "\t  ";
  }
}

// The words of a rule with random blanks, line breaks and comments between them.
TEST(Format, KeepsWordsAndCommentsOfAnyLayout) {
  std::mt19937 random(4);
  for (const auto &[name, text] : allSources()) {
    auto file = SourceFile::create(name, text);
    DiagnosticEngine diagnostics;
    std::vector<Word> words = splitWords(*file, diagnostics);
    std::string expected = ast(text, name);
    for (int i = 0; i < 40; ++i) {
      std::string shuffled;
      for (const Word &word : words) {
        bool startsStatement = word.kind == TokenKind::Let || word.kind == TokenKind::Next;
        if (startsStatement && random() % 2 && StringRef(shuffled).rtrim().ends_with(")"))
          shuffled += "; ";
        shuffled += word.text.str() + separator(random);
      }
      SCOPED_TRACE(shuffled);
      std::string formatted = format(shuffled);
      ASSERT_EQ(ast(formatted, name), expected);
      ASSERT_EQ(format(formatted), formatted);
      auto before = SourceFile::create(name, shuffled), after = SourceFile::create(name, formatted);
      std::vector<Word> shuffledWords = splitWords(*before, diagnostics);
      std::vector<Word> formattedWords = splitWords(*after, diagnostics);
      ASSERT_EQ(contentOf(formattedWords), contentOf(shuffledWords));
    }
  }
}

TEST(Format, FitsTheLinesThatCanBeBroken) {
  std::mt19937 random(5);
  const char *const operators[] = {" + ", " - ", " * ", " / "};
  for (int i = 0; i < 300; ++i) {
    std::string text = "x";
    for (int n = random() % 40; n >= 0; --n) {
      switch (random() % 5) {
      case 0:
        text = "if " + text + " > 0 then x else y";
        break;
      case 1:
        text = "f(" + text + ", 12345678, xyz)";
        break;
      case 2:
        text = "(" + text + ")";
        break;
      default:
        text += operators[random() % 4] + std::to_string(random() % 100000);
      }
    }
    std::string formatted = format("fn g(x, y) = " + text);
    ASSERT_EQ(format(formatted), formatted);
    llvm::SmallVector<StringRef> lines;
    StringRef(formatted).split(lines, '\n');
    // Only nested parentheses may exceed the limit.
    for (StringRef line : lines)
      ASSERT_TRUE(line.size() <= maxLineWidth || line.count('(') > 4) << formatted;
  }
}

// `for` and `in` have a meaning only in the head of `repeat`.
TEST(Format, KeepsNamesLikeWordsOfRepeat) {
  const std::string end = " * 11111111111111111111111111111111111111111111111111111111111111111111";
  const std::pair<const char *, const char *> cases[] = {
      {"", "for = x, in = 1 for a in [1]"},
      {"for", "y = for for a in for"},
      {"in", "y = in for a in in"},
      {"in", "y = x for for in in"},
      {"for, in", "y = for + in, z = for for a in for"},
      {"for", "y = x for (in, b) in for"},
  };
  for (auto [parameters, head] : cases) {
    std::string text = "fn f(" + std::string(parameters) + ") { let x = 1 repeat w = x" + end +
                       ", " + head + " { next w = x } return w }";
    SCOPED_TRACE(text);
    std::string formatted = format(text);
    EXPECT_NE(formatted, text);
    EXPECT_EQ(ast(formatted, "rule.upd"), ast(text, "rule.upd"));
    EXPECT_EQ(format(formatted), formatted);
  }
}

TEST(Format, BreaksTheHeadOfRepeat) {
  EXPECT_EQ(format("fn f(x, l) { repeat first_value = x * 1111111111111, second_value = x * "
                   "22222222222222, third = 3 for (a, b) in l { next third = a } return third }"),
            "fn f(x, l) {\n"
            "  repeat first_value = x * 1111111111111,\n"
            "         second_value = x * 22222222222222,\n"
            "         third = 3\n"
            "         for (a, b) in l {\n"
            "    next third = a\n"
            "  }\n"
            "\n"
            "  return third\n"
            "}\n");
}

TEST(Format, ReportsSyntaxErrors) {
  DiagnosticEngine diagnostics;
  EXPECT_FALSE(formatSource("fn f(x) = x +", "rule.upd", diagnostics));
  EXPECT_EQ(diagnostics.render(),
            "rule.upd:1:14: error: expected an expression, found the end of the file\n"
            "fn f(x) = x +\n             ^\n");
}

TEST(Format, WritesLinesThatEndWithLF) {
  EXPECT_EQ(format("\xEF\xBB\xBF"
                   "fn f(x) = x // a \r\n"),
            "fn f(x) = x // a\n");
  EXPECT_EQ(format(""), "");
  EXPECT_EQ(format("\n\n// only a comment"), "// only a comment\n");
}
} // namespace
