//===- EnvironmentTest.cpp - updraft-c/environment.h ------------------------------------------===//

#include "updraft-c/environment.h"

#include "runtime/package/Machine.h"
#include "updraft-c/compiler.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unistd.h>

namespace fs = std::filesystem;
using nlohmann::json;
using updraft::package::Machine;

namespace {
json environment() {
  char *text = nullptr;
  EXPECT_EQ(upd_environment(&text), UPD_OK) << upd_last_error();
  json result = json::parse(text ? text : "null");
  upd_string_release(text);
  return result;
}

class EnvironmentCAPI : public testing::Test {
protected:
  EnvironmentCAPI()
      : folder(fs::temp_directory_path() / ("updraft-environment-" + std::to_string(::getpid()))) {
    if (const char *before = std::getenv("UPDRAFT_CACHE_DIR"))
      inherited = before;
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);
    ::setenv("UPDRAFT_CACHE_DIR", folder.c_str(), 1);
  }
  ~EnvironmentCAPI() override {
    if (inherited)
      ::setenv("UPDRAFT_CACHE_DIR", inherited->c_str(), 1);
    else
      ::unsetenv("UPDRAFT_CACHE_DIR");
    fs::remove_all(folder);
  }

  fs::path folder;
  std::optional<std::string> inherited;
};

TEST_F(EnvironmentCAPI, NamesVersionsAndTarget) {
  const json all = environment();
  EXPECT_EQ("updraft " + all["updraft"].get<std::string>() + " (LLVM " +
                all["llvm"].get<std::string>() + ")",
            upd_version());
  EXPECT_GE(all["threads"], 1);
  EXPECT_THAT(all["target"]["triple"].get<std::string>(), testing::HasSubstr("linux"));
  EXPECT_GE(all["target"]["vector_bits"], 128);
  const Machine &machine = Machine::host();
  EXPECT_EQ(all["target"]["multiplies_bf16"],
            Machine::multipliesBF16(machine.architecture, machine.level));
  for (const std::string feature : all["target"]["features"])
    EXPECT_THAT(feature,
                testing::Not(testing::AnyOf(testing::StartsWith("+"), testing::StartsWith("-"),
                                            testing::IsEmpty())));
}

TEST_F(EnvironmentCAPI, ListsTheEntriesOfTheCache) {
  EXPECT_EQ(environment()["cache"]["folder"], folder.string());
  EXPECT_TRUE(environment()["cache"]["entries"].empty());

  const char *text = "rule Listed() { update(param, grad) { next param = param - grad } }";
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = folder.c_str();
  upd_rule *rule = nullptr;
  ASSERT_EQ(upd_compile(text, std::strlen(text), nullptr, &options, &rule), UPD_OK)
      << upd_last_error();
  upd_rule_release(rule);
  const json entries = environment()["cache"]["entries"];
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0]["rule"], "Listed");
  EXPECT_GT(entries[0]["bytes"], 0);
  EXPECT_GT(entries[0]["last_used"], 0);
}

TEST_F(EnvironmentCAPI, SaysWhyTheCacheIsNotUsed) {
  EXPECT_FALSE(environment()["cache"].contains("unused"));
  fs::permissions(folder, fs::perms::others_write, fs::perm_options::add);
  const json cache = environment()["cache"];
  EXPECT_EQ(cache["unused"], "other users may write to `" + folder.string() +
                                 "` (mode 0702); use a folder that only you can write to, or "
                                 "`chmod go-w` this one");
  EXPECT_TRUE(cache["entries"].empty());
}

TEST_F(EnvironmentCAPI, HasNoCacheIfTheEnvironmentSaysSo) {
  ::setenv("UPDRAFT_CACHE_DIR", "", 1);
  const json cache = environment()["cache"];
  EXPECT_EQ(cache["folder"], "");
  EXPECT_TRUE(cache["entries"].empty());
}

TEST_F(EnvironmentCAPI, RefusesNull) {
  EXPECT_EQ(upd_environment(nullptr), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "json, where the result goes, is null");
}
} // namespace
