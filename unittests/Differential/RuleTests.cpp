//===- RuleTests.cpp - Every shipped rule, compiled and interpreted ---------------------------===//
// One instance per rule, so that they run in parallel; one test per combination of flags and
// settings, each over many storage types.

#include "RuleTable.h"

using namespace updraft::differential;

namespace {

class Rules : public testing::TestWithParam<RuleVariant> {};

TEST_P(Rules, StepAsInterpretedInEveryStorageType) {
  for (const StorageChoice &storage : storageChoices(GetParam())) {
    RuleCase ruleCase = GetParam().instantiate(storage);
    ruleCase.tensors = smallTensors();
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

TEST_P(Rules, StepAsInterpretedOnLargeTensors) {
  const std::vector<StorageChoice> choices = storageChoices(GetParam());
  for (size_t choice : {size_t(0), (7 * GetParam().index + 1) % choices.size()}) {
    RuleCase ruleCase = GetParam().instantiate(choices[choice]);
    ruleCase.tensors = {{100003, false}, {8192 * 3, true}, {8193, false}};
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

TEST_P(Rules, RefuseTheSameHyperparameters) {
  ASSERT_TRUE(requirementsAgree(GetParam().instantiate({})));
}

std::string nameOf(const testing::TestParamInfo<RuleVariant> &info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(SGD, Rules, testing::ValuesIn(variantsOf("sgd")), nameOf);
INSTANTIATE_TEST_SUITE_P(Adam, Rules, testing::ValuesIn(variantsOf("adam")), nameOf);
INSTANTIATE_TEST_SUITE_P(AdamW, Rules, testing::ValuesIn(variantsOf("adamw")), nameOf);
INSTANTIATE_TEST_SUITE_P(RMSprop, Rules, testing::ValuesIn(variantsOf("rmsprop")), nameOf);
INSTANTIATE_TEST_SUITE_P(Adagrad, Rules, testing::ValuesIn(variantsOf("adagrad")), nameOf);
INSTANTIATE_TEST_SUITE_P(QHM, Rules, testing::ValuesIn(variantsOf("qhm")), nameOf);
INSTANTIATE_TEST_SUITE_P(Lion, Rules, testing::ValuesIn(variantsOf("lion")), nameOf);

} // namespace
