//===- PackageTest.cpp - updraft/Package.h ----------------------------------------------------===//

#include "PackedRule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace updraft;
using test::packedAdamW;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

static_assert(!std::is_copy_constructible_v<Package> &&
              std::is_nothrow_move_constructible_v<Package>);

Package open() { return Package::openBuffer(packedAdamW().data(), packedAdamW().size()).value(); }

TEST(Package, DescribesItself) {
  const Package package = open();
  EXPECT_THAT(package.info(), HasSubstr("\"rule\": \"AdamW\""));
  EXPECT_THAT(package.variants(), ElementsAre("", "param=bf16"));
}

TEST(Package, LoadsVariants) {
  const Package package = open();
  EXPECT_EQ(package.load()->paramDtype(), UPD_F32);
  EXPECT_EQ(package.load("param=bf16")->paramDtype(), UPD_BF16);
  const Result<Rule> missing = package.load("param=f16");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, UPD_NOT_FOUND);
  EXPECT_EQ(missing.error().message,
            "package `<buffer>` has no variant `param=f16`; there is ``, `param=bf16`");
  EXPECT_EQ(package.load(nullptr, "riscv64").error().code, UPD_NOT_FOUND);
}

TEST(Package, RuleOutlivesIt) {
  const Rule rule = test::loadAdamW();
  EXPECT_EQ(rule.name(), "AdamW");
}

TEST(Package, VerifiesItsSamples) {
  const Package package = open();
  EXPECT_TRUE(package.verify());
  EXPECT_TRUE(package.verify("param=bf16"));
  EXPECT_EQ(package.verify("none").error().code, UPD_NOT_FOUND);
}

TEST(Package, OpensFiles) {
  const std::string path = testing::TempDir() + "updraft-cxx.updraft";
  std::ofstream(path, std::ios::binary) << packedAdamW();
  EXPECT_TRUE(Package::open(path));
  std::remove(path.c_str());
  const Result<Package> gone = Package::open(path);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, UPD_NOT_FOUND);
  EXPECT_EQ(gone.error().message, "there is no file `" + path + "`");
}

TEST(Package, RefusesDamage) {
  std::string bytes = packedAdamW();
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_EQ(Package::openBuffer(bytes.data(), bytes.size()).error().code, UPD_INVALID_ARGUMENT);
  EXPECT_EQ(Package::openBuffer(nullptr, 0).error().code, UPD_INVALID_ARGUMENT);
}

TEST(Package, RequiresASignature) {
  PackageOptions options;
  options.requiredKey = "-----BEGIN PUBLIC KEY-----\n"
                        "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
                        "-----END PUBLIC KEY-----\n";
  EXPECT_EQ(
      Package::openBuffer(packedAdamW().data(), packedAdamW().size(), options).error().message,
      "package `<buffer>` is not signed, and a signature is required");
  // An empty text is a wrong key, not a missing one.
  options.requiredKey = "";
  EXPECT_THAT(
      Package::openBuffer(packedAdamW().data(), packedAdamW().size(), options).error().message,
      StartsWith("expected a PEM file with `-----BEGIN PUBLIC KEY-----`"));
}

TEST(Package, MayBeEmpty) {
  const Package package;
  EXPECT_EQ(package.info(), "");
  EXPECT_TRUE(package.variants().empty());
  EXPECT_EQ(package.load().error().message, "package is null");
}

} // namespace
