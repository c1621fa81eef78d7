//===- LinkedRuleTest.cpp - updraft-c/linked_rule.h -------------------------------------------===//
// test/Library/linked-rules.test has programs with linked rules.

#include "updraft-c/linked_rule.h"

#include "updraft-c/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

using testing::StartsWith;

namespace {

using Rule = std::unique_ptr<upd_rule, decltype(&upd_rule_release)>;

#if defined(__aarch64__)
constexpr const char *hostTarget = "aarch64";
#else
constexpr const char *hostTarget = "x86-64-v2";
#endif

constexpr const char *source =
    "rule Descent() { update(param, grad) { next param = param - grad } }";

/// Stands for a function that isn't called.
void neverCalled() { FAIL(); }

/// The code of a rule with one prologue and one sweep.
struct LinkedRules : testing::Test {
  LinkedRules() : compiled(nullptr, upd_rule_release) {
    upd_compile_options options{};
    options.struct_size = sizeof(options);
    options.cache_dir = "";
    upd_rule *rule = nullptr;
    EXPECT_EQ(upd_compile(source, std::string(source).size(), nullptr, &options, &rule), UPD_OK)
        << upd_last_error();
    compiled.reset(rule);
    code = codeFor(hostTarget);
  }

  upd_linked_rule codeFor(const char *target) const {
    return {sizeof(upd_linked_rule), target, upd_rule_descriptor(compiled.get(), nullptr),
            functions.data(), functions.size()};
  }

  std::string errorOf(const std::vector<const upd_linked_rule *> &targets, upd_status expected) {
    upd_rule *rule = compiled.get();
    EXPECT_EQ(upd_rule_link(targets.data(), targets.size(), &rule), expected);
    EXPECT_EQ(rule, nullptr);
    return upd_last_error();
  }

  Rule compiled;
  std::vector<void (*)()> functions{4, neverCalled};
  upd_linked_rule code;
};

TEST_F(LinkedRules, HaveTheInterfaceOfTheirDescriptor) {
  const upd_linked_rule *targets[] = {&code};
  upd_rule *rule = nullptr;
  ASSERT_EQ(upd_rule_link(targets, 1, &rule), UPD_OK) << upd_last_error();
  const Rule linked(rule, upd_rule_release);
  EXPECT_STREQ(upd_rule_name(rule), "Descent");
  EXPECT_EQ(upd_rule_origin(rule), UPD_LINKED);
  EXPECT_STREQ(upd_rule_interface(rule), upd_rule_interface(compiled.get()));
}

TEST_F(LinkedRules, NeedATargetThatTheMachineRuns) {
  const upd_linked_rule v9 = codeFor("x86-64-v9"), sve = codeFor("aarch64+sve8192");
  EXPECT_THAT(errorOf({&v9, &sve}, UPD_UNSUPPORTED),
              StartsWith("rule `Descent` has no code for this CPU, which supports `"));
  EXPECT_THAT(errorOf({&v9, &sve}, UPD_UNSUPPORTED),
              testing::EndsWith("`; it has `x86-64-v9`, `aarch64+sve8192`"));
  // A target that this library doesn't know is not an error if another fits.
  const upd_linked_rule unknown = codeFor("riscv64");
  const upd_linked_rule *targets[] = {&unknown, &code};
  upd_rule *rule = nullptr;
  EXPECT_EQ(upd_rule_link(targets, 2, &rule), UPD_OK) << upd_last_error();
  upd_rule_release(rule);
}

TEST_F(LinkedRules, RejectWhatIsNoCodeOfARule) {
  EXPECT_EQ(errorOf({}, UPD_INVALID_ARGUMENT), "no targets; give at least one upd_linked_rule");
  EXPECT_EQ(errorOf({&code, nullptr}, UPD_INVALID_ARGUMENT), "a target is null");
  upd_linked_rule damaged = code;
  damaged.functions = nullptr;
  EXPECT_EQ(errorOf({&damaged}, UPD_INVALID_ARGUMENT), "a member of a target is null");
  damaged = code;
  damaged.function_count = 3;
  EXPECT_EQ(errorOf({&damaged}, UPD_INVALID_ARGUMENT),
            std::string("the code of rule `Descent` for `") + hostTarget +
                "` has 3 functions, and its descriptor 4");
  damaged = code;
  damaged.struct_size = 8;
  EXPECT_EQ(
      errorOf({&damaged}, UPD_INVALID_ARGUMENT),
      "struct_size of upd_linked_rule is 8; set it to sizeof(upd_linked_rule), which is 40 in this "
      "version of the library");
  EXPECT_EQ(upd_rule_link(nullptr, 1, nullptr), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "rule, where the result goes, is null");
}

} // namespace
