//===- CPUTargetTest.cpp - CPUs by name -------------------------------------------------------===//

#include "updraft/Target/CPUTarget.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/Pipelines.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace updraft;

TEST(CPUTargetTest, NamedTargetsHaveTheirVectors) {
  for (auto [name, bits, masked] :
       {std::tuple("x86-64-v3", 256u, false), std::tuple("x86-64-v4", 512u, true),
        std::tuple("x86-64-v4+bf16", 512u, true), std::tuple("aarch64", 128u, false),
        std::tuple("aarch64+bf16", 128u, false), std::tuple("aarch64+sve128", 128u, false),
        std::tuple("aarch64+sve256", 256u, false), std::tuple("aarch64+sve512", 512u, false)}) {
    auto target = CPUTarget::named(name);
    ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
    EXPECT_EQ(target->name, name);
    EXPECT_EQ(target->vectorBits, bits);
    EXPECT_EQ(target->maskRemainder, masked);
    auto generator = CodeGenerator::create(*target);
    ASSERT_TRUE(bool(generator)) << llvm::toString(generator.takeError());
    EXPECT_EQ((*generator)->target().key(), target->key());
  }
}

TEST(CPUTargetTest, UnknownNameListsTheKnown) {
  auto target = CPUTarget::named("pdp-11");
  ASSERT_FALSE(bool(target));
  EXPECT_EQ(llvm::toString(target.takeError()),
            "unknown target `pdp-11`; known are `host`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4`, "
            "`x86-64-v4+bf16`, `aarch64`, `aarch64+bf16`, `aarch64+sve128`, `aarch64+sve256`, "
            "`aarch64+sve512`");
}

TEST(CPUTargetTest, NamedTargetsMultiplyBF16IfTheirNamesSaySo) {
  for (llvm::StringRef name : CPUTarget::names())
    if (name != "host")
      EXPECT_EQ(llvm::cantFail(CPUTarget::named(name)).multipliesBF16, name.ends_with("+bf16"))
          << name.str();
}

TEST(CPUTargetTest, TheInstructionForBF16IsTheTargets) {
  auto dotOf = [](const char *name) {
    return productTargetOf(llvm::cantFail(CPUTarget::named(name))).dot;
  };
  EXPECT_EQ(dotOf("x86-64-v4"), DotInstruction::None);
  EXPECT_EQ(dotOf("x86-64-v4+bf16"), DotInstruction::VDPBF16PS);
  EXPECT_EQ(dotOf("aarch64+sve256"), DotInstruction::None);
  EXPECT_EQ(dotOf("aarch64+bf16"), DotInstruction::BFDOT);
}

TEST(CPUTargetTest, HostIsTheSameEachTime) {
  auto named = CPUTarget::named("host");
  ASSERT_TRUE(bool(named));
  EXPECT_EQ(named->key(), CPUTarget::host().key());
  EXPECT_FALSE(named->features.empty());
  EXPECT_TRUE(bool(CodeGenerator::create(*named)));
}

TEST(CPUTargetTest, KeysDiffer) {
  std::vector<std::string> keys;
  for (const char *name : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    auto target = CPUTarget::named(name);
    ASSERT_TRUE(bool(target));
    keys.push_back(target->key());
    target->vectorBits = 64;
    keys.push_back(target->key());
    target->features = "+crc";
    keys.push_back(target->key());
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST(CPUTargetTest, NamedTargetsHaveTheirOwnKeys) {
  std::vector<std::string> keys;
  for (llvm::StringRef name : CPUTarget::names())
    keys.push_back(llvm::cantFail(CPUTarget::named(name)).key());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST(CPUTargetTest, AnUnknownTripleIsAnError) {
  CPUTarget target = CPUTarget::host();
  target.triple = "sparc-unknown-linux-gnu";
  auto generator = CodeGenerator::create(target);
  ASSERT_FALSE(bool(generator));
  EXPECT_NE(llvm::toString(generator.takeError()).find("cannot make code for target `host`: "),
            std::string::npos);
}
