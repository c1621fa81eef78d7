//===- PackageTest.cpp - updraft-c/package.h --------------------------------------------------===//

#include "updraft-c/package.h"

#include "updraft-c/compiler.h"
#include "updraft-c/optimizer.h"
#include "updraft/Driver/CompileRequest.h"
#include "updraft/Packager/Packager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

using testing::HasSubstr;
using testing::StartsWith;

namespace {

using Package = std::unique_ptr<upd_package, decltype(&upd_package_release)>;
using Rule = std::unique_ptr<upd_rule, decltype(&upd_rule_release)>;
using Optimizer = std::unique_ptr<upd_optimizer, decltype(&upd_optimizer_release)>;

constexpr const char *adamwFile = UPDRAFT_RULES_DIR "/adamw.upd";

/// A package of AdamW in f32 and bf16 for CPUs.
const std::string &adamw() {
  static const std::string bytes = [] {
    updraft::PackRequest request;
    request.rule.filename = adamwFile;
    request.rule.source = llvm::cantFail(updraft::readRuleFile(adamwFile));
    request.targets = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
    request.variants = {{}, {{"param", updraft::StorageType::BF16}}};
    return llvm::cantFail(updraft::packRule(request));
  }();
  return bytes;
}

Package open(const std::string &bytes) {
  upd_package *package = nullptr;
  EXPECT_EQ(upd_package_open_buffer(bytes.data(), bytes.size(), nullptr, &package), UPD_OK)
      << upd_last_error();
  return {package, upd_package_release};
}

Rule load(const Package &package, const char *variant = nullptr, const char *target = nullptr) {
  upd_rule *rule = nullptr;
  EXPECT_EQ(upd_package_load(package.get(), variant, target, &rule), UPD_OK) << upd_last_error();
  return {rule, upd_rule_release};
}

Rule compiled() {
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  upd_rule *rule = nullptr;
  EXPECT_EQ(upd_compile_file(adamwFile, &options, &rule), UPD_OK) << upd_last_error();
  return {rule, upd_rule_release};
}

/// A parameter with an optimizer, and steps with gradients that depend on the step.
struct Training {
  explicit Training(Rule rule) : values(1000, 1.0f), grads(1000), optimizer(nullptr, nullptr) {
    const upd_tensor param = view(values);
    upd_group group{};
    group.params = &param;
    group.param_count = 1;
    upd_optimizer *created = nullptr;
    EXPECT_EQ(upd_optimizer_create(rule.get(), &group, 1, nullptr, &created), UPD_OK)
        << upd_last_error();
    optimizer = Optimizer(created, upd_optimizer_release);
  }

  upd_tensor view(std::vector<float> &data) {
    upd_tensor tensor{};
    tensor.data = data.data();
    tensor.shape = &size;
    tensor.rank = 1;
    tensor.dtype = UPD_F32;
    tensor.device = UPD_CPU;
    return tensor;
  }

  void step() {
    ++steps;
    for (size_t i = 0; i < grads.size(); ++i)
      grads[i] = float(int(i * 37 + steps * 101) % 200 - 100) / 64;
    const upd_tensor grad = view(grads);
    ASSERT_EQ(upd_optimizer_step(optimizer.get(), &grad, 1), UPD_OK) << upd_last_error();
  }

  std::vector<float> values, grads;
  int64_t size = 1000;
  int steps = 0;
  Optimizer optimizer;
};

TEST(PackageCAPI, DescribesThePackage) {
  const Package package = open(adamw());
  EXPECT_THAT(upd_package_info(package.get()), HasSubstr("\"rule\": \"AdamW\""));
  ASSERT_EQ(upd_package_variant_count(package.get()), 2u);
  EXPECT_STREQ(upd_package_variant_name(package.get(), 0), "");
  EXPECT_STREQ(upd_package_variant_name(package.get(), 1), "param=bf16");
  EXPECT_EQ(upd_package_variant_name(package.get(), 2), nullptr);
}

TEST(PackageCAPI, LoadsARuleLikeTheCompiledOne) {
  const Package package = open(adamw());
  const Rule rule = load(package), other = compiled();
  EXPECT_STREQ(upd_rule_name(rule.get()), "AdamW");
  EXPECT_EQ(upd_rule_origin(rule.get()), UPD_FROM_PACKAGE);
  EXPECT_EQ(upd_rule_device(rule.get()), UPD_CPU);
  EXPECT_STREQ(upd_rule_interface(rule.get()), upd_rule_interface(other.get()));
  EXPECT_EQ(upd_rule_param_dtype(load(package, "param=bf16").get()), UPD_BF16);
}

TEST(PackageCAPI, StepsLikeTheCompiledRule) {
  Training packed(load(open(adamw()))), expected(compiled());
  for (int i = 0; i < 5; ++i) {
    ASSERT_NO_FATAL_FAILURE(packed.step());
    ASSERT_NO_FATAL_FAILURE(expected.step());
    ASSERT_EQ(std::memcmp(packed.values.data(), expected.values.data(), 4000), 0) << i;
  }
}

// All targets that this CPU runs compute the same bits.
TEST(PackageCAPI, StepsAlikeForEveryTarget) {
  const Package package = open(adamw());
  Training expected(load(package));
  ASSERT_NO_FATAL_FAILURE(expected.step());
  size_t ran = 0;
  for (const char *target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    upd_rule *rule = nullptr;
    const upd_status status = upd_package_load(package.get(), nullptr, target, &rule);
    if (status == UPD_UNSUPPORTED)
      continue;
    ASSERT_EQ(status, UPD_OK) << upd_last_error();
    Training training{Rule(rule, upd_rule_release)};
    ASSERT_NO_FATAL_FAILURE(training.step());
    EXPECT_EQ(training.values, expected.values) << target;
    ++ran;
  }
  EXPECT_GE(ran, 1u);
}

TEST(PackageCAPI, ContinuesFromFilesOfTheCompiledRuleAndBack) {
  Training packed(load(open(adamw()))), other(compiled());
  const std::string path = testing::TempDir() + "updraft-package-states.safetensors";
  for (auto [from, to] : {std::pair(&packed, &other), std::pair(&other, &packed)}) {
    ASSERT_NO_FATAL_FAILURE(from->step());
    ASSERT_EQ(upd_optimizer_save(from->optimizer.get(), path.c_str()), UPD_OK);
    to->values = from->values;
    to->steps = from->steps;
    ASSERT_EQ(upd_optimizer_load(to->optimizer.get(), path.c_str()), UPD_OK) << upd_last_error();
    ASSERT_NO_FATAL_FAILURE(from->step());
    ASSERT_NO_FATAL_FAILURE(to->step());
    EXPECT_EQ(from->values, to->values);
  }
  std::remove(path.c_str());
}

TEST(PackageCAPI, KeepsTheBuffersContent) {
  std::string bytes = adamw();
  const Package package = open(bytes);
  std::fill(bytes.begin(), bytes.end(), '\0');
  EXPECT_EQ(upd_package_verify(package.get(), nullptr, nullptr), UPD_OK) << upd_last_error();
}

TEST(PackageCAPI, OpensFiles) {
  const std::string path = testing::TempDir() + "updraft-package-capi.updraft";
  std::ofstream(path, std::ios::binary) << adamw();
  upd_package *package = nullptr;
  ASSERT_EQ(upd_package_open(path.c_str(), nullptr, &package), UPD_OK) << upd_last_error();
  EXPECT_EQ(upd_package_verify(package, "param=bf16", nullptr), UPD_OK) << upd_last_error();
  upd_package_release(package);
  std::remove(path.c_str());
  EXPECT_EQ(upd_package_open(path.c_str(), nullptr, &package), UPD_NOT_FOUND);
  EXPECT_EQ(package, nullptr);
}

TEST(PackageCAPI, LoadsAndUnloadsInSeveralThreads) {
  const Package package = open(adamw());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        Training training(load(package));
        training.step();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(PackageCAPI, ReportsWrongArguments) {
  const Package package = open(adamw());
  upd_package *opened = package.get();
  EXPECT_EQ(upd_package_open(nullptr, nullptr, &opened), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(opened, nullptr);
  EXPECT_STREQ(upd_last_error(), "path is null");
  EXPECT_EQ(upd_package_open_buffer(nullptr, 0, nullptr, &opened), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_package_open("x", nullptr, nullptr), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "package, where the result goes, is null");
  upd_package_options options{};
  EXPECT_EQ(upd_package_open_buffer(adamw().data(), adamw().size(), &options, &opened),
            UPD_INVALID_ARGUMENT);
  EXPECT_THAT(upd_last_error(), StartsWith("struct_size of upd_package_options is 0"));
  upd_rule *rule = nullptr;
  EXPECT_EQ(upd_package_load(nullptr, nullptr, nullptr, &rule), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_package_load(package.get(), "param=f16", nullptr, &rule), UPD_NOT_FOUND);
  EXPECT_STREQ(upd_last_error(),
               "package `<buffer>` has no variant `param=f16`; there is ``, `param=bf16`");
  EXPECT_EQ(upd_package_load(package.get(), nullptr, "riscv64", &rule), UPD_NOT_FOUND);
  EXPECT_STREQ(upd_last_error(), "package `<buffer>` has no target `riscv64`; it has `x86-64-v2`, "
                                 "`x86-64-v3`, `x86-64-v4`, `aarch64`");
  EXPECT_EQ(upd_package_load(package.get(), nullptr, "cuda:x", &rule), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "unknown target `cuda:x`; a GPU is `cuda`, or `cuda:1` with its number");
  EXPECT_EQ(upd_package_verify(nullptr, nullptr, nullptr), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_package_info(nullptr), nullptr);
  EXPECT_EQ(upd_package_variant_count(nullptr), 0u);
  upd_package_release(nullptr);
}

TEST(PackageCAPI, RequiresASignatureIfAsked) {
  constexpr const char *key = "-----BEGIN PUBLIC KEY-----\n"
                              "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
                              "-----END PUBLIC KEY-----\n";
  upd_package_options options{};
  options.struct_size = sizeof(options);
  options.required_key = key;
  upd_package *package = nullptr;
  EXPECT_EQ(upd_package_open_buffer(adamw().data(), adamw().size(), &options, &package),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "package `<buffer>` is not signed, and a signature is required");
  options.required_key = "not a key";
  EXPECT_EQ(upd_package_open_buffer(adamw().data(), adamw().size(), &options, &package),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "expected a PEM file with `-----BEGIN PUBLIC KEY-----`; openssl "
                                 "genpkey -algorithm ed25519 makes one");
}

} // namespace
