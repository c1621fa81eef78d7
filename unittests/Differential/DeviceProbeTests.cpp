//===- DeviceProbeTests.cpp - Probes on a device and on the CPU -------------------------------===//
// The rows of both must have the same bits, and so must parameters and states after steps with
// probes.

#include "RuleTable.h"
#include "SteppedSides.h"

using namespace updraft;
using namespace updraft::differential;

namespace {

class DeviceProbes : public OnDevice<> {
protected:
  static RuleCase caseOf(const std::string &file) {
    RuleCase ruleCase = variantsOf(file).front().instantiate({});
    ruleCase.probes = {"update_ratio",
                       "gradient_norm",
                       "non_finite",
                       "largest_parameter",
                       "rate = lr * step",
                       "gradient_sizes",
                       "signs = histogram(new_param, [0])"};
    return ruleCase;
  }

  static std::vector<GroupTensor> tensors() {
    return {{{5}, 0}, {{2 * 8192 + 130}, 0}, {{130, 5}, 0, 3}, {{2, 70, 3}, 1}, {{33}, 1, 1}};
  }
};

INSTANTIATE_TEST_SUITE_P(All, DeviceProbes, testing::Combine(testing::ValuesIn(SteppedOn::names())),
                         [](const auto &info) { return std::get<0>(info.param); });

TEST_P(DeviceProbes, HaveTheBitsOfTheCPU) {
  for (const char *file : {"adamw", "adafactor", "lamb", "prodigy", "sgd"})
    for (const char *numerics : {"ieee", "torch"}) {
      RuleCase ruleCase = caseOf(file);
      ruleCase.numerics = numerics;
      SteppedSides sides(ruleCase, on, tensors());
      ASSERT_TRUE(sides.make());
      for (int step = 0; step < 3; ++step) {
        ASSERT_TRUE(sides.step());
        EXPECT_EQ(sides.rowsOfLastComparison(), 5u);
      }
    }
}

TEST_P(DeviceProbes, AreOfEverySoManySteps) {
  for (const char *file : {"adamw", "adafactor"}) {
    const RuleCase ruleCase = caseOf(file);
    SteppedSides sides(ruleCase, on, tensors());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.probeEvery(3));
    for (int step = 1; step <= 7; ++step) {
      ASSERT_TRUE(sides.step());
      EXPECT_EQ(sides.rowsOfLastComparison(), step % 3 == 0 ? 5u : 0u);
    }
    ASSERT_TRUE(sides.probeEvery(0));
    ASSERT_TRUE(sides.step());
    EXPECT_EQ(sides.rowsOfLastComparison(), 0u);
    ASSERT_TRUE(sides.probeEvery(1));
    ASSERT_TRUE(sides.step());
    EXPECT_EQ(sides.rowsOfLastComparison(), 5u);
  }
}

TEST_P(DeviceProbes, AreNotOfStepsThatTheDeviceSkips) {
  const RuleCase ruleCase = caseOf("adamw");
  SteppedSides sides(ruleCase, on, tensors());
  ASSERT_TRUE(sides.make());
  for (const float found : {1, 0, 1, 0}) {
    ASSERT_TRUE(sides.step(found));
    EXPECT_EQ(sides.rowsOfLastComparison(), found == 0 ? 5u : 0u);
  }
}

TEST_P(DeviceProbes, AreOfTensorsWithGradients) {
  const RuleCase ruleCase = caseOf("adamw");
  SteppedSides sides(ruleCase, on, tensors());
  ASSERT_TRUE(sides.make());
  sides.setPresent(1, false);
  ASSERT_TRUE(sides.stepBoth());
  sides.moveGradients(1);
  ASSERT_TRUE(sides.step());
  EXPECT_EQ(sides.rowsOfLastComparison(), 8u);
}

TEST_P(DeviceProbes, AreOfTheStepsSinceAFileWasLoaded) {
  const RuleCase ruleCase = caseOf("adamw");
  SteppedSides sides(ruleCase, on, tensors());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.exchangeFiles());
  ASSERT_TRUE(sides.step());
  EXPECT_EQ(sides.rowsOfLastComparison(), 5u);
}

} // namespace
