//===- ConcurrentFailureTest.cpp - Threads that compile the same invalid rule -----------------===//

#include "tools/harness/TemporaryFolder.h"
#include "updraft-c/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace {
/// Fails in the scheduler, after the import, because it needs too many operations.
std::string tooLargeRule() {
  std::string lets = "let a0 = lr ";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    lets +=
        "let a" + std::to_string(i) + " = sum(param * " + before + ") * powers(" + before + ") ";
  }
  return "fn powers(x) = pow(x + 1, 0.3) + pow(x + 2, 0.3) + pow(x + 3, 0.3)\n"
         "rule R(lr = 0.1) { update(param, grad) { " +
         lets + "next param = param - grad * a39 } }";
}

/// Compiles the rule as generated from the file `origin`, or as text if that is empty. Returns the
/// message.
std::string failureOf(const std::string &filename, const std::string &origin) {
  const std::string source = tooLargeRule();
  const upd_source_file file{origin.c_str(), source.c_str(), source.size()};
  const upd_source_span span{0, source.size(), 0, 0, source.size(), 0};
  const upd_source_map origins{&file, 1, &span, 1};
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  options.origins = origin.empty() ? nullptr : &origins;
  upd_rule *rule = nullptr;
  EXPECT_EQ(upd_compile(source.data(), source.size(), filename.c_str(), &options, &rule),
            UPD_COMPILE_ERROR);
  return upd_last_error();
}

/// A compilation writes its first dumps into pipes, and blocks at each until the test opens it.
class ConcurrentFailures : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("UPDRAFT_DUMP_IR", folder.c_str(), 1);
    failureOf("rule.upd", "");
    ASSERT_FALSE(fs::is_empty(folder)) << "it fails before it is imported";
    const fs::path dump = fs::directory_iterator(folder)->path();
    imported = dump / "01-import.mlir";
    separated = dump / "02-updraft-separate-probes.mlir";
    for (const fs::path &file : {imported, separated}) {
      ASSERT_TRUE(fs::remove(file));
      ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    }
  }
  void TearDown() override { ::unsetenv("UPDRAFT_DUMP_IR"); }

  /// Has a thread compile as `first`, and another as `second` meanwhile. Returns whether there was
  /// a second compilation.
  bool compileBoth(const std::pair<std::string, std::string> &first,
                   const std::pair<std::string, std::string> &second) {
    std::string messages[2];
    std::thread one([&] { messages[0] = failureOf(first.first, first.second); });
    const std::ifstream begun(imported);
    fs::remove(imported);
    std::thread other([&] { messages[1] = failureOf(second.first, second.second); });
    // For the other to come to the rule. If it came later, it would compile, and the test fail.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const std::ifstream goesOn(separated);
    fs::remove(separated);
    one.join();
    other.join();
    for (const auto &[names, message] : {std::pair(first, messages[0]), {second, messages[1]}}) {
      const std::string &shown = names.second.empty() ? names.first : names.second;
      EXPECT_THAT(message, AllOf(StartsWith(shown + ":"), HasSubstr("error: the rule needs ")));
    }
    return fs::exists(imported);
  }

  const updraft::harness::TemporaryFolder temporary;
  const std::string &folder = temporary.path();
  fs::path imported, separated; ///< the first dumps of a compilation
};
} // namespace

TEST_F(ConcurrentFailures, OfOneFileAreOne) {
  EXPECT_FALSE(compileBoth({"rule.upd", ""}, {"rule.upd", ""}));
}

TEST_F(ConcurrentFailures, OfOneGeneratedFileAreOne) {
  EXPECT_FALSE(compileBoth({"rule.upd", "rule.py"}, {"rule.upd", "rule.py"}));
}

TEST_F(ConcurrentFailures, NameTheFileOfEach) {
  EXPECT_TRUE(compileBoth({"rule.upd", ""}, {"other.upd", ""}));
}

TEST_F(ConcurrentFailures, NameTheOriginOfEach) {
  EXPECT_TRUE(compileBoth({"rule.upd", "rule.py"}, {"rule.upd", "other.py"}));
}
