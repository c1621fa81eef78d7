//===- RuleTests.cpp - Every shipped rule, compiled and interpreted ---------------------------===//
// One test per rule and combination of flags and settings, each over many storage types.

#include "RuleTable.h"
#include "Sides.h"

#include "llvm/ADT/STLExtras.h"

using namespace updraft::differential;

namespace {

class Rules : public testing::TestWithParam<RuleVariant> {};

TEST_P(Rules, StepAsInterpretedInEveryStorageType) {
  for (const StorageChoice &storage : storageChoices(GetParam())) {
    RuleCase ruleCase = GetParam().instantiate(storage);
    ruleCase.tensors = smallTensors();
    ruleCase.withMatrices = true;
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

TEST_P(Rules, StepAsInterpretedOnOrdinaryValues) {
  const std::vector<StorageChoice> choices = storageChoices(GetParam());
  for (size_t choice : {size_t(0), (7 * GetParam().index + 3) % choices.size()}) {
    RuleCase ruleCase = GetParam().instantiate(choices[choice]);
    ruleCase.ordinary = true;
    ruleCase.tensors = smallTensors();
    ruleCase.withMatrices = true;
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

TEST_P(Rules, StepAsInterpretedOnLargeTensors) {
  const std::vector<StorageChoice> choices = storageChoices(GetParam());
  for (size_t choice : {size_t(0), (7 * GetParam().index + 1) % choices.size()}) {
    RuleCase ruleCase = GetParam().instantiate(choices[choice]);
    ruleCase.ordinary = choice == 0;
    ruleCase.tensors = {{100003, false}, {8192 * 3, true}, {8193, false}};
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

// In the mode `fast`, the interpreter runs the rule after its rewrites.
TEST_P(Rules, StepAsInterpretedInOtherNumerics) {
  const std::vector<StorageChoice> choices = storageChoices(GetParam());
  for (const char *numerics : {"torch", "fast"})
    for (size_t choice : {size_t(0), (7 * GetParam().index + 5) % choices.size()}) {
      RuleCase ruleCase = GetParam().instantiate(choices[choice]);
      ruleCase.numerics = numerics;
      ruleCase.ordinary = choice == 0;
      ruleCase.tensors = smallTensors();
      ruleCase.withMatrices = true;
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
}

TEST_P(Rules, StepAsInterpretedWithStatesInBlocks) {
  const bool odd = GetParam().index % 2;
  for (bool companded : {false, true}) {
    RuleCase ruleCase = GetParam().instantiate(
        {{"param", odd ? StorageType::BF16 : StorageType::F32},
         {"grad", odd == companded ? StorageType::F32 : StorageType::BF16},
         {"state", companded ? StorageType::Q8Companded : StorageType::Q8Linear}});
    ruleCase.ordinary = odd == companded;
    ruleCase.tensors = blockTensors();
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

TEST_P(Rules, StepAsInterpretedWithStatesOfDifferentTypes) {
  llvm::Expected<updraft::reference::Interpreter> rule = interpret(GetParam().instantiate({}));
  ASSERT_TRUE(bool(rule)) << llvm::toString(rule.takeError());
  std::vector<std::string> states;
  for (const updraft::reference::Stream &stream : llvm::drop_begin(rule->streams(), 2))
    if (stream.over == updraft::Extent::element)
      states.push_back(stream.name);
  if (states.size() < 2)
    return; // the tests above already cover it
  for (const StorageChoice &storage : mixedStorage(GetParam(), states)) {
    RuleCase ruleCase = GetParam().instantiate(storage);
    ruleCase.ordinary = GetParam().index % 2;
    ruleCase.tensors = {{1, true}, {17, false}, {257, false}, {1003, true}, {771, false, {3, 257}}};
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

TEST_P(Rules, RefuseTheSameHyperparameters) {
  ASSERT_TRUE(requirementsAgree(GetParam().instantiate({})));
}

std::string nameOf(const testing::TestParamInfo<RuleVariant> &info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(Shipped, Rules, testing::ValuesIn(allVariants()), nameOf);

TEST(RuleTable, HasEveryShippedRule) {
  for (const std::string &file : ruleFiles())
    EXPECT_FALSE(variantsOf(file).empty()) << file;
}

} // namespace
