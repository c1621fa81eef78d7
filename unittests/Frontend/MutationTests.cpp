//===- MutationTests.cpp - Damaged rules ------------------------------------------------------===//
// For any text, the frontend returns either a valid rule or an error with a location; it never
// crashes or hangs. The texts are the shipped rules with random damage, from a fixed seed.

#include "updraft/Frontend/Frontend.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

#include <random>

using namespace updraft;

namespace {
const char *const words[] = {
    "(",       ")",      "{",      "}",      "if ",   " then ",       " else ", "let ",
    "next ",   "state ", "^",      "-",      "/",     "&&",           "==",     " when ",
    "static ", "fn f",   "rule R", "update", "param", "lr",           "step",   "first",
    "\"",      "{lr}",   "1e308",  "0",      "grad",  "true",         ":f64",   "\xC3",
    "\n",      ",",      "exp(",   "sqrt(",  "//",    "import \"x\"", "!",      "lerp"};

std::string damaged(std::string text, std::mt19937 &random) {
  auto below = [&](size_t bound) { return random() % std::max<size_t>(bound, 1); };
  for (size_t count = 1 + below(3); count > 0; --count) {
    size_t at = below(text.size()), length = below(30);
    switch (below(5)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, words[below(std::size(words))]);
      break;
    case 2:
      text.insert(at, text.substr(below(text.size()), length));
      break;
    case 3:
      text[at] = static_cast<char>(below(256));
      break;
    default:
      text.replace(at, below(6), words[below(std::size(words))]);
      break;
    }
    if (text.empty())
      text = " ";
  }
  return text;
}

class MutationTest : public testing::TestWithParam<const char *> {};

TEST_P(MutationTest, GivesARuleOrALocatedError) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(UPDRAFT_RULES_DIR) + "/" + GetParam());
  ASSERT_TRUE(static_cast<bool>(buffer));
  std::mt19937 random(20);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  unsigned valid = 0, refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string text = damaged((*buffer)->getBuffer().str(), random);
    SCOPED_TRACE(text);
    DiagnosticEngine diagnostics;
    auto program = parseProgram(text, "rule.upd", diagnostics);
    auto imported = program ? importRule(context, *program, {}, diagnostics) : std::nullopt;
    if (imported) {
      ++valid;
      ASSERT_TRUE(mlir::succeeded(mlir::verify(*imported->module)));
      std::string printed;
      llvm::raw_string_ostream os(printed);
      printSource(*program, os);
      ASSERT_TRUE(parseProgram(printed, "rule.upd", diagnostics)) << printed;
    } else {
      ++refused;
      ASSERT_TRUE(diagnostics.hasErrors());
      ASSERT_FALSE(diagnostics.render().empty());
    }
  }
  // The damage is neither too little nor too much to tell anything.
  EXPECT_GT(valid, 300u);
  EXPECT_GT(refused, 3000u);
}

INSTANTIATE_TEST_SUITE_P(Rules, MutationTest,
                         testing::Values("sgd.upd", "adam.upd", "qhm.upd", "lion.upd"),
                         [](const auto &info) {
                           std::string name;
                           for (char c : std::string(info.param))
                             name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });
} // namespace
