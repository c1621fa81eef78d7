//===- FuzzTests.cpp - The fuzz targets on their corpora --------------------------------------===//
// Replays earlier findings and seeds. A finding ends the process, as in the fuzzer; the previous
// line of output names the input.

#include "FuzzTarget.h"

#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"
#include <gtest/gtest.h>

#include <set>

using namespace updraft::fuzz;

namespace {

const FuzzTarget *const targets[] = {&languageTarget,  &dialectTarget, &safetensorsTarget,
                                     &interfaceTarget, &packageTarget, &rulesTarget,
                                     &plansTarget,     &typingTarget,  &storeTarget,
                                     &accessTarget,    &optionsTarget, &messagesTarget};

class FuzzTargets : public testing::TestWithParam<const FuzzTarget *> {
protected:
  static void replay(const std::vector<Seed> &seeds) {
    for (const Seed &seed : seeds) {
      llvm::PrettyStackTraceFormat trace("replaying `%s` with target %s", seed.name.c_str(),
                                         GetParam()->name);
      GetParam()->run(seed.bytes);
    }
  }
};

TEST_P(FuzzTargets, ReplayTheirCorpus) {
  const std::vector<Seed> seeds = corpusOf(*GetParam());
  ASSERT_FALSE(seeds.empty());
  replay(seeds);
}

class FuzzTargetsWithSeeds : public FuzzTargets {};

TEST_P(FuzzTargetsWithSeeds, TakeTheFilesOfTheSourceTree) {
  const std::vector<Seed> seeds = GetParam()->seeds();
  ASSERT_GE(seeds.size(), 10u);
  std::set<std::string> names;
  for (const Seed &seed : seeds)
    EXPECT_TRUE(names.insert(seed.name).second) << seed.name;
  replay(seeds);
}

// Bytes that don't fit any target's format, and no bytes.
TEST_P(FuzzTargets, TakeOddBytes) {
  GetParam()->run({});
  for (size_t length : {1, 8, 1000})
    for (char byte : {'\0', '\n', '{', '(', '\x80', '\xff'})
      GetParam()->run(std::string(length, byte));
}

std::string nameOf(const testing::TestParamInfo<const FuzzTarget *> &info) {
  return info.param->name;
}
INSTANTIATE_TEST_SUITE_P(All, FuzzTargets, testing::ValuesIn(targets), nameOf);
INSTANTIATE_TEST_SUITE_P(All, FuzzTargetsWithSeeds,
                         testing::Values(&languageTarget, &dialectTarget, &packageTarget,
                                         &rulesTarget, &typingTarget, &storeTarget,
                                         &messagesTarget),
                         nameOf);

TEST(FuzzDeathTest, AFindingEndsTheProcessWithItsMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(finding("two and two are five"), "finding: two and two are five");
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  return RUN_ALL_TESTS();
}
