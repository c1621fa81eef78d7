//===- BlockTests.cpp - States in blocks, compiled and interpreted ----------------------------===//
// Cases beyond the tests of every rule: mixes of storage types, values at the edges of a block's
// range, large tensors and initial values.

#include "RuleTable.h"

using namespace updraft::differential;

namespace {

constexpr StorageType allTypes[] = {StorageType::F32,      StorageType::F64,
                                    StorageType::BF16,     StorageType::F16,
                                    StorageType::Q8Linear, StorageType::Q8Companded};

RuleCase adamW(StorageChoice storage) {
  return variantsOf("adamw").front().instantiate(std::move(storage));
}

TEST(Blocks, OfAdamWInAllMixes) {
  for (StorageType first : allTypes)
    for (StorageType second : allTypes)
      for (StorageType param : {StorageType::F32, StorageType::BF16, StorageType::F64}) {
        if (param == StorageType::F64 && first != second)
          continue;
        RuleCase ruleCase =
            adamW({{"param", param}, {"grad", param}, {"exp_avg", first}, {"exp_avg_sq", second}});
        ruleCase.ordinary = true;
        ruleCase.tensors = blockTensors();
        ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
      }
}

// A parameter with corrections has a state of bytes before the blocks. Stochastic rounding also
// needs random bits.
TEST(Blocks, OfAdamWBesideRoundedValues) {
  constexpr StorageType rounded[] = {StorageType::BF16Stochastic, StorageType::BF16Corrected};
  constexpr StorageType blocked[] = {StorageType::Q8Linear, StorageType::Q8Companded};
  for (StorageType param : rounded)
    for (StorageType first : blocked)
      for (StorageType second :
           {StorageType::Q8Linear, StorageType::Q8Companded, StorageType::BF16Stochastic,
            StorageType::BF16Corrected, StorageType::F32}) {
        for (bool swapped : {false, true}) {
          RuleCase ruleCase = adamW({{"param", param},
                                     {"grad", StorageType::BF16},
                                     {"exp_avg", swapped ? second : first},
                                     {"exp_avg_sq", swapped ? first : second}});
          ruleCase.ordinary = true;
          ruleCase.tensors = blockTensors();
          ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
        }
      }
}

// Blocks lie in rows, corrections do not.
TEST(Blocks, OfMatricesBesideRoundedValues) {
  for (StorageType param : {StorageType::BF16Stochastic, StorageType::BF16Corrected})
    for (StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded}) {
      RuleCase ruleCase;
      ruleCase.filename = "centered.upd";
      ruleCase.source = "rule Centered(lr = 0.1) {\n"
                        "  state mean = 0\n"
                        "  state last = grad : bf16_corrected\n"
                        "  update(param, grad) {\n"
                        "    let g = if matrix then grad - row_mean(grad) else grad\n"
                        "    next mean = lerp(mean, g, 0.1)\n"
                        "    next last = 0.5 * last + g\n"
                        "    next param = param - lr * (mean + last)\n"
                        "  }\n}\n";
      ruleCase.storage = {{"param", param}, {"grad", StorageType::BF16}, {"mean", state}};
      ruleCase.ordinary = true;
      ruleCase.tensors = blockTensors();
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
}

TEST(Blocks, OfLargeTensors) {
  for (StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded}) {
    RuleCase ruleCase = adamW({{"state", state}});
    ruleCase.ordinary = true;
    ruleCase.tensors = {{8191, false}, {8192, true}, {8193, false}, {100003, false}};
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

/// A rule whose states become its gradient.
RuleCase keepsGradient(StorageType state, const std::string &value = "grad") {
  RuleCase ruleCase;
  ruleCase.filename = "keep.upd";
  ruleCase.source = "rule Keep(start = 0.3, scale = 1) {\n"
                    "  state kept = start\n"
                    "  state constant = -start\n"
                    "  update(param, grad) {\n"
                    "    next kept = (" +
                    value +
                    ") * scale\n"
                    "    next param = kept + constant\n"
                    "  }\n}\n";
  ruleCase.storage = {{"state", state}};
  ruleCase.tensors = blockTensors();
  return ruleCase;
}

TEST(Blocks, OfSpecialValues) {
  for (StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded})
    for (const char *value : {"grad", "abs(grad)", "-abs(grad)", "0 * grad", "-0 * abs(grad)"}) {
      RuleCase ruleCase = keepsGradient(state, value);
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
}

// Zeros of both signs among positive values, in some blocks or in all.
TEST(Blocks, OfValuesWithZeros) {
  for (StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded})
    for (const char *value : {"if grad > 0 then grad else 0 * grad", "max(grad, 0)",
                              "if grad > -2 then abs(grad) else 0 * grad"}) {
      RuleCase ruleCase = keepsGradient(state, value);
      ruleCase.ordinary = true;
      ruleCase.tensors = {{8193, false}};
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
}

// The same for values whose roots the rule takes.
TEST(Blocks, OfRootsOfZeros) {
  for (const char *value : {"if grad > 0 then grad else 0 * grad", "grad", "abs(grad)"}) {
    RuleCase ruleCase;
    ruleCase.filename = "root.upd";
    ruleCase.source = "rule Root(lr = 0.1) {\n"
                      "  state kept = 0\n"
                      "  update(param, grad) {\n"
                      "    let v = 0.5 * kept + (" +
                      std::string(value) +
                      ")\n"
                      "    next kept = v\n"
                      "    next param = param - lr * grad / (sqrt(v) + 0.1)\n"
                      "  }\n}\n";
    ruleCase.storage = {{"state", StorageType::Q8Companded}};
    ruleCase.ordinary = true;
    ruleCase.tensors = {{8193, false}};
    ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
  }
}

// From the largest values to denormals, for which a block's scale doesn't have an inverse.
TEST(Blocks, OfAllMagnitudes) {
  for (StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded})
    for (const char *value : {"grad", "abs(grad)"}) {
      RuleCase ruleCase = keepsGradient(state, value);
      ruleCase.ordinary = true;
      ruleCase.steps = 12;
      const double scales[] = {1e38, 1e30, 1e-30, 3e-34, 1e-35, 4e-37, 1e-37, 1e-38, 1e-40, 1e-45};
      for (int i = 0; i < 10; ++i)
        ruleCase.changes.push_back({i + 1, "scale", scales[i]});
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
}

// An initial value stays exact until the state's first change; a state that never changes stays
// exact.
TEST(Blocks, StartFromExactValues) {
  for (StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded})
    for (const char *start : {"0.3", "-0.3", "0", "-0", "1e-40", "3e38", "1e300"}) {
      RuleCase ruleCase = keepsGradient(state);
      ruleCase.settings = {{"start", start}};
      ruleCase.steps = 2;
      ASSERT_TRUE(compiledEqualsInterpreted(ruleCase));
    }
}

} // namespace
