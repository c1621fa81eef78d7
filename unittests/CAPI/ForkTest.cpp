//===- ForkTest.cpp - Compiling in a child of fork --------------------------------------------===//

#include "updraft-c/compiler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {
/// Compiles a rule that nobody has compiled before.
upd_status compileNew(unsigned number) {
  const std::string source = "rule R(lr = " + std::to_string(number) +
                             ") { update(param, grad) { next param = param - lr * grad } }";
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  upd_rule *rule = nullptr;
  upd_status status = upd_compile(source.data(), source.size(), nullptr, &options, &rule);
  upd_rule_release(rule);
  return status;
}
} // namespace

// The thread that compiles at the moment of the fork is not in the child.
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
