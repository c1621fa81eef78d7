//===- TargetTests.cpp - Code for CPUs other than this machine's ------------------------------===//
// The instruction sets for object files that this machine can run: vectors of other widths, and
// remainders with and without masks.

#include "RandomRule.h"
#include "RuleTable.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace updraft::differential;

namespace {

/// Whether this machine has the features that make the target's code run.
bool runsHere(llvm::StringRef target) {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const auto has = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  const bool v3 = has({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"});
  if (target == "x86-64-v3")
    return v3;
  if (target == "x86-64-v4")
    return v3 && has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  return false;
}

class Targets : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!runsHere(GetParam()))
      GTEST_SKIP() << "this machine does not run " << GetParam();
  }
};

/// The last variant of each rule, in every storage, for the tensors of `shape`.
static void stepRules(std::initializer_list<const char *> files, const char *target,
                      llvm::function_ref<void(RuleCase &)> shape) {
  for (const char *file : files) {
    const std::vector<RuleVariant> variants = variantsOf(file);
    for (const StorageChoice &storage : storageChoices(variants.back())) {
      RuleCase ruleCase = variants.back().instantiate(storage);
      ruleCase.target = target;
      shape(ruleCase);
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
  }
}

TEST_P(Targets, StepShippedRulesAsInterpreted) {
  stepRules({"sgd", "adamw", "rmsprop", "lion"}, GetParam(),
            [](RuleCase &ruleCase) { ruleCase.tensors = smallTensors(); });
}

// Rows, columns and reductions have separate sweeps.
TEST_P(Targets, StepRulesWithReductionsAsInterpreted) {
  stepRules({"adafactor", "lamb", "prodigy", "novograd"}, GetParam(), [](RuleCase &ruleCase) {
    ruleCase.ordinary = true;
    ruleCase.tensors = {{17, false}, {1003, true}};
    ruleCase.withMatrices = true;
  });
}

TEST_P(Targets, StepStatesInBlocksAsInterpreted) {
  for (StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded})
    for (StorageType param : {StorageType::F32, StorageType::F64}) {
      RuleCase ruleCase = variantsOf("adamw").front().instantiate(
          {{"param", param}, {"grad", StorageType::F32}, {"state", state}});
      ruleCase.target = GetParam();
      ruleCase.ordinary = true;
      ruleCase.tensors = blockTensors();
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
}

TEST_P(Targets, StepRandomRulesAsInterpreted) {
  for (uint64_t seed = 1000; seed < 1100; ++seed) {
    RuleCase ruleCase = randomRule(seed);
    ruleCase.target = GetParam();
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase)) << ruleCase.source;
  }
}

INSTANTIATE_TEST_SUITE_P(X86, Targets, testing::Values("x86-64-v3", "x86-64-v4"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return info.param == std::string("x86-64-v3") ? "v3" : "v4";
                         });

} // namespace
