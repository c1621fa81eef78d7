//===- NaNTests.cpp - NaNs of every kind in one value for many elements -----------------------===//
// States over a tensor or row, and reductions: a NaN's payload there may have bits that a NaN in a
// 16-bit tensor can't have.

#include "../Target/JitPlan.h"
#include "Inputs.h"
#include "RuleCase.h"

using namespace updraft::differential;

namespace {

/// Expressions of `value`, which is a NaN. Some are numbers, for comparison.
constexpr const char *expressions[] = {
    "-value",     "max(value, lr)",      "sqrt(value) * lr",
    "exp(value)", "tanh(1 / value)",     "value ^ step + floor(value) ^ 0.3",
    "value",      "min(lr, abs(value))", "if value > 0 then 1 else value"};

class NaNs : public testing::TestWithParam<const char *> {
protected:
  /// Steps the rule with each NaN in the states that it begins with.
  void expectSame(const std::string &source,
                  std::vector<std::pair<std::string, StorageType>> storage) {
    RuleCase ruleCase;
    ruleCase.source = updraft::test::substitute(source, {{"EXPRESSION", GetParam()}});
    ruleCase.filename = "nan.upd";
    ruleCase.storage = std::move(storage);
    ruleCase.tensors = {{1, true}, {1003, false}, {17, true}, {390, false, {130, 3}}};
    ruleCase.steps = 2;
    ruleCase.ordinary = true;
    for (uint64_t encoding : anyNaNs()) {
      ruleCase.givenNaN = encoding;
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase)) << std::hex << encoding;
    }
  }
};

constexpr std::pair<StorageType, StorageType> tensors[] = {
    {StorageType::BF16, StorageType::BF16},
    {StorageType::BF16Stochastic, StorageType::BF16},
    {StorageType::BF16Corrected, StorageType::BF16},
    {StorageType::F32, StorageType::BF16},
    {StorageType::F16, StorageType::F16},
    {StorageType::F64, StorageType::F64}};
constexpr StorageType scalars[] = {StorageType::F64, StorageType::F32, StorageType::BF16,
                                   StorageType::F16};

TEST_P(NaNs, MatchTheInterpreterInAStateOverATensor) {
  for (auto [param, grad] : tensors)
    for (StorageType scalar : scalars)
      if (param == StorageType::BF16 || scalar == StorageType::F64)
        expectSame(R"(rule R(lr = 1) {
  state value over tensor = 1
  update(param, grad, step) {
    next param = param - lr * grad * (EXPRESSION)
  }
})",
                   {{"param", param}, {"grad", grad}, {"value", scalar}});
}

TEST_P(NaNs, MatchTheInterpreterInAReduction) {
  for (auto [param, grad] : tensors)
    for (const char *reduction : {"sum", "max", "group_sum"}) {
      if (param != StorageType::BF16 && reduction[0] != 's')
        continue;
      expectSame(updraft::test::substitute(R"(rule R(lr = 1) {
  state m = 0
  update(param, grad, step) {
    let value = REDUCTION(m)
    next param = param - lr * grad * (EXPRESSION)
  }
})",
                                           {{"REDUCTION", reduction}}),
                 {{"param", param}, {"grad", grad}, {"m", StorageType::F32}});
    }
}

TEST_P(NaNs, MatchTheInterpreterInAStateOverRows) {
  for (auto [param, grad] : tensors)
    expectSame(R"(rule R(lr = 1) {
  state value over row = 1 when matrix
  state m = 0
  update(param, grad, step) {
    let scaled = if matrix then grad * (EXPRESSION) else grad
    next m = m + scaled
    next param = param - lr * scaled
  }
})",
               {{"param", param},
                {"grad", grad},
                {"value", StorageType::F32},
                {"m", StorageType::Q8Linear}});
}

TEST_P(NaNs, MatchTheInterpreterInElements) {
  for (auto [param, grad] : tensors)
    for (StorageType state : {param, StorageType::F32}) {
      if (param != StorageType::BF16 && state != param)
        continue;
      expectSame(R"(rule R(lr = 1) {
  state value = 1
  update(param, grad, step) {
    next value = EXPRESSION
    next param = param - lr * grad * value
  }
})",
                 {{"param", param}, {"grad", grad}, {"value", state}});
    }
}

INSTANTIATE_TEST_SUITE_P(Of, NaNs, testing::ValuesIn(expressions));

} // namespace
