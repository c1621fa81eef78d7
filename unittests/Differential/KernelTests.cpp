//===- KernelTests.cpp - GPU kernels on the emulator ------------------------------------------===//
// GPU kernels, with both widths of accesses, must be bitwise equal to the interpreter.

#include "RandomRule.h"
#include "RuleTable.h"

using namespace updraft::differential;

namespace {

class Kernels : public testing::TestWithParam<std::string> {};

// The last variant, in several storage types, with accesses of 128 and of 256 bits. Tensors have
// zero or one element, less than a vector, several vectors and a remainder, or more than a chunk.
// Some are unaligned.
TEST_P(Kernels, StepAsInterpreted) {
  const RuleVariant variant = variantsOf(GetParam()).back();
  const std::vector<StorageChoice> choices = storageChoices(variant);
  for (size_t number = 0; number < 4; ++number) {
    RuleCase ruleCase = variant.instantiate(choices[number * choices.size() / 4]);
    ruleCase.target = number % 2 == 0 ? "emulator" : "emulator:256";
    ruleCase.ordinary = number % 4 < 2;
    ruleCase.tensors = smallTensors();
    ruleCase.tensors.push_back({8192 + 130, number % 4 < 2});
    ruleCase.withMatrices = true;
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

INSTANTIATE_TEST_SUITE_P(Emulated, Kernels, testing::ValuesIn(ruleFiles()),
                         [](const testing::TestParamInfo<std::string> &info) {
                           return info.param;
                         });

TEST(RandomKernels, StepAsInterpreted) {
  for (uint64_t seed = 5000; seed < 5100; ++seed) {
    RuleCase ruleCase = randomRule(seed);
    ruleCase.target = seed % 2 == 0 ? "emulator" : "emulator:256";
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase)) << ruleCase.source;
  }
}

} // namespace
