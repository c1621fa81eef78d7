//===- CompileTimeTest.cpp - The compile time of large rules ----------------------------------===//
// Everything within the limits of docs/language.md must compile in 5 s. Measures CPU time of all
// threads, so that other load on the machine matters little.

#include "updraft-c/compiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

namespace {
double cpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// `count` copies of `expression` of `x`, of the step `n` and of the number in place of `#`, in
/// groups of a hundred; and `more` operations after `lr`.
std::string repeated(const std::string &expression, int count, const std::string &argument,
                     const std::string &more = "") {
  std::string sum, lets, next;
  for (int i = 0; i < 100; ++i) {
    std::string term = expression;
    for (size_t at; (at = term.find('#')) != std::string::npos;)
      term.replace(at, 1, std::to_string(i));
    sum += (i ? " + " : "") + term;
  }
  for (int i = 0; i < count / 100; ++i) {
    lets += "let a" + std::to_string(i) + " = h(" + argument + " * " + std::to_string(i + 1) +
            ", step) ";
    next += (i ? " + a" : "a") + std::to_string(i);
  }
  return "fn h(x, n) = " + sum + "\nrule R(lr = 0.1) { update(param, grad, step) { " + lets +
         "next param = param - lr" + more + " * grad * (" + next + ") } }";
}

/// Each of `count` reductions depends on the previous one and on scalars of it.
std::string chained(int count, const std::string &scalar) {
  std::string lets = "let a0 = lr ";
  for (int i = 1; i < count; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    lets += "let a" + std::to_string(i) + " = sum(param * " + before + ") * " + scalar + "(" +
            before + ") ";
  }
  return "fn one(x) = 1\nfn powers(x) = pow(x + 1, 0.3) + pow(x + 2, 0.3) + pow(x + 3, 0.3)\n"
         "rule R(lr = 0.1) { update(param, grad) { " +
         lets + "next param = param - grad * a" + std::to_string(count - 1) + " } }";
}

/// Returns the seconds.
double compile(const std::string &source, const char *target, upd_status expected = UPD_OK,
               const char *type = "f32") {
  const upd_storage storage[] = {{"param", type}, {"grad", type}};
  upd_compile_options options{};
  options.storage = storage;
  options.storage_count = 2;
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  options.target = target;
  const double before = cpuSeconds();
  upd_rule *rule = nullptr;
  const upd_status status = upd_compile(source.data(), source.size(), "large.upd", &options, &rule);
  const double seconds = cpuSeconds() - before;
  EXPECT_EQ(status, expected) << upd_last_error();
  upd_rule_release(rule);
  return seconds;
}

constexpr double longest = 5;
} // namespace

class LargeRules : public testing::TestWithParam<const char *> {};

// Near the limit of each kind of operation.
TEST_P(LargeRules, CompileInFiveSeconds) {
  const char *target = GetParam();
  EXPECT_LT(compile(repeated("x * #", 1900, "param"), target), longest);
  EXPECT_LT(compile(repeated("fma(x, x, #)", 1900, "param"), target), longest);
  EXPECT_LT(compile(repeated("x / (x + #)", 1200, "param"), target), longest);
  EXPECT_LT(compile(repeated("pow(x + #, 0.3)", 500, "param"), target), longest);
  EXPECT_LT(compile(repeated("tanh(x + #)", 500, "param"), target), longest);
  EXPECT_LT(compile(repeated("pow(x + #, 0.3)", 500, "lr"), target), longest);
  EXPECT_LT(compile(repeated("(x + #) ^ n", 500, "lr"), target), longest);
  EXPECT_LT(compile(chained(120, "one"), target), longest);
}

// Rules with a variant for vectors and one for matrices, which have separate limits.
TEST_P(LargeRules, CompileInFiveSecondsInEveryStorage) {
  const std::string variants = " * (if matrix then row_sum(grad) else 1)";
  for (const char *type : {"f32", "bf16", "f64"})
    for (const auto &[expression, count] :
         {std::pair("max(min(x, #), n)", 300), std::pair("pow(x + #, 0.3)", 500),
          std::pair("x * #", 1800)}) {
      const std::string source = repeated(expression, count, "param", variants);
      EXPECT_LT(compile(source, GetParam(), UPD_OK, type), longest) << expression << " " << type;
    }
}

// 4 terms of 100 have twice as many operations as 2.
TEST_P(LargeRules, TakeTimeInProportionToTheirSize) {
  const char *target = GetParam();
  for (const char *expression : {"x * #", "pow(x + #, 0.3)", "tanh(x + #)"}) {
    auto seconds = [&](int count) {
      const std::string source = repeated(expression, count, "param");
      return std::min(compile(source, target), compile(source, target));
    };
    seconds(100);
    const double half = seconds(200);
    EXPECT_LT(seconds(400), 2.5 * half + 0.1) << expression << ", half of it: " << half << " s";
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LargeRules, testing::Values(nullptr, "emulator", "nvptx:sm_90"),
                         [](const auto &info) {
                           const char *target = info.param;
                           return std::string(target ? std::string(target).substr(0, 5) : "host");
                         });

// Each prologue contains all scalars that it depends on, so a small rule can have a large plan.
TEST(LargePlans, AreRefused) {
  const std::string source = chained(40, "powers");
  EXPECT_LT(compile(source, nullptr, UPD_COMPILE_ERROR), longest);
  const std::string message = upd_last_error();
  EXPECT_NE(message.find("large.upd:3:6: error: the rule needs "), std::string::npos) << message;
  EXPECT_NE(
      message.find(
          " operations, and the limit is 8000; each `exp`, `log`, `max`, `min`, `pow`, `tanh` and "
          "product of matrices counts as 5, each reduction and each sweep as 25; use fewer "
          "reductions, or compute less from their results\n"),
      std::string::npos)
      << message;
}

// The error shows the text of the request, which isn't in the file.
TEST(LargePlans, OfChainsInTheRequestAreRefused) {
  const std::string source = chained(40, "powers");
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  options.rule = "clip_by_value(1) |> R";
  upd_rule *rule = nullptr;
  ASSERT_EQ(upd_compile(source.data(), source.size(), "large.upd", &options, &rule),
            UPD_COMPILE_ERROR);
  const std::string message = upd_last_error();
  EXPECT_NE(message.find("<rule>:1:1: error: the rule needs "), std::string::npos) << message;
  EXPECT_NE(message.find("\nclip_by_value(1) |> R\n^~~"), std::string::npos) << message;
}
