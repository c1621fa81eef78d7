//===- PrinterTests.cpp - Printing and parsing again ------------------------------------------===//

#include "updraft/Frontend/Frontend.h"

#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

#include <filesystem>

using namespace updraft;

namespace {
std::string ast(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printAst(program, os);
  return text;
}

std::string source(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSource(program, os);
  return text;
}

// Printed and parsed again, the tree is the same, and so is the text.
void expectRoundTrip(llvm::StringRef text) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram(text, "rule.upd", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  std::string printed = source(*program);
  auto again = parseProgram(printed, "rule.upd", diagnostics);
  ASSERT_TRUE(again) << diagnostics.render() << printed;
  EXPECT_EQ(ast(*again), ast(*program));
  EXPECT_EQ(source(*again), printed);
}

TEST(SourcePrinter, RoundTripsTheShippedRules) {
  unsigned count = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(UPDRAFT_RULES_DIR)) {
    if (entry.path().extension() != ".upd")
      continue;
    SCOPED_TRACE(entry.path().string());
    ++count;
    auto buffer = llvm::MemoryBuffer::getFile(entry.path().string());
    ASSERT_TRUE(static_cast<bool>(buffer));
    // The functions of the standard library are already in scope, and the file's replace them.
    expectRoundTrip((*buffer)->getBuffer());
  }
  EXPECT_GE(count, 9u);
}

TEST(SourcePrinter, RoundTripsDeclarations) {
  expectRoundTrip("fn f() = 1 fn g(a, b) { let c = a; return b; }\n"
                  "rule R() { update() { next param = 1 } }\n"
                  "rule S(static k = \"a\\\"{{\")\n"
                  "  require k != \"b\\n\" else \"{k} \\\\ {{}}\"\n"
                  "{ state m = 1 : bf16 when k == \"c\" state v = 0 : f64\n"
                  "  update(first, param) { next m = 2 when !(k == \"c\"); next param = param } }");
}

TEST(SourcePrinter, RoundTripsRepeat) {
  expectRoundTrip("fn f(x, l) { repeat y = x, z = 1 for (a, b) in l { let c = a @ y\n"
                  "  repeat w = c for d in [1, 2] { next w = d * w } next y = w; next z = b }\n"
                  "  repeat u = y for (a) in [1] {} let v = u return v }\n"
                  "rule R(static l = [(1, 2)]) { state m = 0 update(param, grad) {\n"
                  "  let k = 1 repeat y = grad for (a, b) in l { let c = a * b next y = c * y }\n"
                  "  next m = y next param = param } }");
}

TEST(SourcePrinter, KeepsOnlyTheParenthesesThatAreNeeded) {
  const std::pair<const char *, const char *> cases[] = {
      {"(a + b) + c", "a + b + c"},
      {"a + (b + c)", "a + (b + c)"},
      {"a - (b - c)", "a - (b - c)"},
      {"(a * b) + c", "a * b + c"},
      {"(a + b) * c", "(a + b) * c"},
      {"a / (b * c)", "a / (b * c)"},
      {"-(a ^ b)", "-a ^ b"},
      {"(-a) ^ b", "(-a) ^ b"},
      {"a ^ (b ^ c)", "a ^ b ^ c"},
      {"(a ^ b) ^ c", "(a ^ b) ^ c"},
      {"a ^ (-b)", "a ^ -b"},
      {"a * (-b)", "a * -b"},
      {"-(a * b)", "-(a * b)"},
      {"--a", "--a"},
      {"(if a > b then a else b) + c", "(if a > b then a else b) + c"},
      {"if a > b then a else (b + c)", "if a > b then a else b + c"},
      {"a + (if a > b then a else b)", "a + (if a > b then a else b)"},
      {"if (a > b) == (b > c) then 1 else 2", "if (a > b) == (b > c) then 1 else 2"},
      {"if !(a > b && b > c) || c > a then 1.50 else 2e-3",
       "if !(a > b && b > c) || c > a then 1.50 else 2e-3"},
      {"if a > b && (b > c || c > a) then 1 else 2", "if a > b && (b > c || c > a) then 1 else 2"},
      {"max((a), ((b)))", "max(a, b)"},
      {"(a @ b) @ c", "a @ b @ c"},
      {"a @ (b @ c)", "a @ (b @ c)"},
      {"(a * b) @ c / b", "a * b @ c / b"},
      {"a * (b @ c)", "a * (b @ c)"},
      {"(a @ b) + c", "a @ b + c"},
      {"(a + b) @ c", "(a + b) @ c"},
      {"-(a @ b)", "-(a @ b)"},
      {"(a @ b) ^ c", "(a @ b) ^ c"},
      {"a @ (b ^ c)", "a @ b ^ c"},
      {"cycled([((1)), (2)], 3)", "cycled([1, 2], 3)"},
      {"cycled([(1, (2)), ((3), -4,)], 3)", "cycled([(1, 2), (3, -4)], 3)"},
  };
  for (auto [written, printed] : cases) {
    std::string text = std::string("fn f(a, b, c) = ") + written;
    SCOPED_TRACE(text);
    expectRoundTrip(text);
    DiagnosticEngine diagnostics;
    auto program = parseProgram(text, "rule.upd", diagnostics);
    ASSERT_TRUE(program);
    EXPECT_EQ(source(*program), std::string("fn f(a, b, c) = ") + printed + "\n");
  }
}

TEST(AstPrinter, PrintsOneNodePerLine) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram("rule R(lr = 1e-3, static s = false)\n"
                              "  require lr >= 0 else \"no\"\n"
                              "{ state m = 0 : bf16 when s\n"
                              "  update(param, grad) { let a = -f(grad)\n"
                              "    next param = if s then param else a } }\n"
                              "fn f(x) { let y = x return y }",
                              "rule.upd", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  EXPECT_EQ(ast(*program), R"(function f
  parameter x
  let y
    name x
  return
    name y
rule R
  hyper lr
    number 0.001
  static s
    bool false
  require "no"
    binary >=
      name lr
      number 0
  state m stored bf16
    number 0
    when
      name s
  update param grad
  let a
    unary -
      call f
        name grad
  next param
    if
      name s
      name param
      name a
)");
}

TEST(AstPrinter, PrintsRepeatsAndLists) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram("fn f(x, l) {\n"
                              "  repeat y = x, z = 1 for (a, b) in l {\n"
                              "    let c = a @ y\n"
                              "    repeat w = c for d in [1, -2] { next w = d * w }\n"
                              "    next y = w\n"
                              "    next z = b\n"
                              "  }\n"
                              "  return y\n"
                              "}\n"
                              "rule R() {\n"
                              "  update(param) {\n"
                              "    repeat y = param for (a, b) in [(1, 2)] { next y = a }\n"
                              "    next param = y\n"
                              "  }\n"
                              "}",
                              "rule.upd", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  EXPECT_EQ(ast(*program), R"(function f
  parameter x
  parameter l
  repeat a b
    variable y
      name x
    variable z
      number 1
    in
      name l
    let c
      binary @
        name a
        name y
    repeat d
      variable w
        name c
      in
        list
          number 1
          unary -
            number 2
      next w
        binary *
          name d
          name w
    next y
      name w
    next z
      name b
  return
    name y
rule R
  update param
  repeat a b
    variable y
      name param
    in
      list
        tuple
          number 1
          number 2
    next y
      name a
  next param
    name y
)");
}

TEST(AstPrinter, ReadsNumbersInEveryForm) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram("fn f() = .5 + 0.25 + .5e-3 + 12 + 1E+2", "rule.upd", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  std::string printed = ast(*program), numbers;
  for (llvm::StringRef line : llvm::split(printed, '\n'))
    if (line.ltrim().starts_with("number "))
      numbers += (line.ltrim() + ";").str();
  EXPECT_EQ(numbers, "number 0.5;number 0.25;number 0.0005;number 12;number 100;");
}
} // namespace
