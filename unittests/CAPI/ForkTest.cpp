//===- ForkTest.cpp - Compiling in a child of fork --------------------------------------------===//

#include "updraft-c/compiler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {
upd_status compile(const std::string &source, const char *target = nullptr) {
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.target = target;
  options.cache_dir = "";
  upd_rule *rule = nullptr;
  upd_status status = upd_compile(source.data(), source.size(), nullptr, &options, &rule);
  upd_rule_release(rule);
  return status;
}

std::string smallRule(unsigned number) {
  return "rule R(lr = " + std::to_string(number) +
         ") { update(param, grad) { next param = param - lr * grad } }";
}

/// A large rule takes a second or more to compile for this target.
constexpr const char *slowTarget = "emulator";

/// A different rule for each `number`.
std::string largeRule(unsigned number) {
  std::string terms, lets, sum = "0";
  for (int i = 0; i < 100; ++i)
    terms += " + pow(x + " + std::to_string(i) + ", 0.3)";
  for (int i = 0; i < 5; ++i) {
    lets += "let a" + std::to_string(i) + " = h(param * " + std::to_string(i + 1) + ") ";
    sum += " + a" + std::to_string(i);
  }
  return "fn h(x) = x" + terms + "\nrule R(lr = " + std::to_string(number) +
         ") { update(param, grad) { " + lets +
         "let scale = if matrix then row_sum(grad) else grad "
         "next param = param - lr * scale * (" +
         sum + ") } }";
}

upd_status compileLarge(unsigned number) { return compile(largeRule(number), slowTarget); }

/// Compiles a rule that hasn't been compiled before.
upd_status compileNew(unsigned number) { return compile(smallRule(number)); }

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Threads that compile large rules until the destructor stops them.
class LargeCompilations {
public:
  explicit LargeCompilations(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back([this, i] {
        for (unsigned number = i; !stop; number += 100)
          EXPECT_EQ(compileLarge(number), UPD_OK);
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  ~LargeCompilations() {
    stop = true;
    for (std::thread &thread : threads)
      thread.join();
  }

private:
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
};
} // namespace

// The thread that is compiling during the fork doesn't exist in the child.
TEST(Fork, ChildrenCompileWhileTheParentDoes) {
  ASSERT_EQ(compileNew(0), UPD_OK);
  std::atomic<bool> stop = false;
  std::thread compiling([&] {
    for (unsigned i = 1; !stop; ++i)
      compileNew(i);
  });
  for (unsigned i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(compileNew(1'000'000 + i) == UPD_OK ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
  stop = true;
  compiling.join();
}

// The child doesn't need the running compilations.
TEST(Fork, WaitsAtMostASecondForLongCompilations) {
  ASSERT_EQ(compileNew(2'000'000), UPD_OK);
  LargeCompilations compilations(3);
  for (unsigned i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      // Includes the rules that the parent's threads are compiling.
      const bool compiled = compileNew(3'000'000 + i) == UPD_OK && compileNew(2'000'000) == UPD_OK;
      _exit(compiled && (i > 0 || compileLarge(0) == UPD_OK) ? 0 : 1);
    }
    EXPECT_LT(secondsSince(start), 1);
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
}

TEST(Fork, WaitsAtMostASecondForTheFirstCompilation) {
  const pid_t fresh = fork();
  if (fresh == 0) {
    alarm(60);
    std::thread first([] { compileLarge(5'000'000); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0)
      _exit(compileNew(4'000'000) == UPD_OK ? 0 : 1);
    const bool isSoon = secondsSince(start) < 1;
    int status = 0;
    waitpid(child, &status, 0);
    first.join();
    _exit(isSoon && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(fresh, &status, 0), fresh);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(ConcurrentCompilations, HoldUpNeitherOthersNorRulesInMemory) {
  ASSERT_EQ(compileNew(6'000'000), UPD_OK);
  LargeCompilations compilations(2);
  for (unsigned i = 0; i < 3; ++i) {
    auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(compileNew(6'000'000), UPD_OK);
    EXPECT_LT(secondsSince(start), 0.2) << "from memory";
    start = std::chrono::steady_clock::now();
    EXPECT_EQ(compileNew(6'000'001 + i), UPD_OK);
    EXPECT_LT(secondsSince(start), 1) << "a small rule";
  }
}

// If several threads ask for the same rule, one compiles it.
TEST(ConcurrentCompilations, OfOneRuleAreOne) {
  const std::string source = largeRule(7'000'000);
  std::atomic<unsigned> compiled = 0, found = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      upd_compile_options options{};
      options.struct_size = sizeof(options);
      options.cache_dir = "";
      options.target = slowTarget;
      upd_rule *rule = nullptr;
      ASSERT_EQ(upd_compile(source.data(), source.size(), nullptr, &options, &rule), UPD_OK);
      ++(upd_rule_origin(rule) == UPD_COMPILED ? compiled : found);
      upd_rule_release(rule);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compiled, 1U);
  EXPECT_EQ(found, 3U);
}
