//===- DeviceReadTests.cpp - Values that an optimizer reads from its device -------------------===//
// Reads wait as rarely as possible, and return the same values as on the CPU.

#include "WatchedSteps.h"

#include <cstdio>

using namespace updraft;
using namespace updraft::differential;

namespace {
class DeviceStepReads : public WatchedSteps {};

/// Rules with states whose initial values depend on hyperparameters.
class DeviceStepStarts : public WatchedRuleSteps {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStepStarts, testing::Values("rprop", "prodigy"));
} // namespace

TEST_F(DeviceStepReads, SavedHyperparametersAreCurrent) {
  compileRule("adamw");
  const std::string path = testing::TempDir() + "read-hypers.safetensors";
  make(3);
  float rates[2];
  auto both = [&](auto body) {
    const Status here = body(*cpu, 0), there = body(*onDevice, 1);
    EXPECT_EQ(here.code(), there.code());
    EXPECT_EQ(here.message(), there.message());
    return here.message();
  };
  auto read = [&](runtime::Optimizer &optimizer, int side) {
    const upd_tensor view = number(&rates[side], side ? runtime::emulatorDevice : UPD_CPU);
    return optimizer.bindHyper(0, "lr", &view);
  };
  auto save = [&](runtime::Optimizer &optimizer, int) { return optimizer.save(path); };
  auto expectRate = [&](double expected) {
    for (runtime::Optimizer *optimizer : {cpu.get(), onDevice.get()}) {
      double rate = -1;
      ASSERT_TRUE(ok(optimizer->getHyper(0, "lr", rate)));
      EXPECT_EQ(rate, expected);
    }
  };
  EXPECT_EQ(both([](auto &optimizer, int) { return optimizer.setHyper(0, "lr", 0.5); }), "");
  for (runtime::Optimizer *saved : {cpu.get(), onDevice.get()}) {
    EXPECT_EQ(both(read), "");
    rates[0] = rates[1] = 0.25f;
    stepBoth();
    expectRate(0.5); // the set value
    rates[0] = rates[1] = 0.125f;
    ASSERT_TRUE(ok(saved->save(path)));
    // A group without a binding has the loaded value from then on.
    EXPECT_EQ(both([&](auto &optimizer, int) { return optimizer.load(path); }), "");
    expectRate(0.125);
    stepBoth();
    compare();
    EXPECT_EQ(both([](auto &optimizer, int) { return optimizer.setHyper(0, "lr", 0.5); }), "");
  }
  // Without a load, the set value applies again.
  EXPECT_EQ(both(read), "");
  stepBoth();
  EXPECT_EQ(both([](auto &optimizer, int) { return optimizer.bindHyper(0, "lr", nullptr); }), "");
  expectRate(0.5);
  stepBoth();
  compare();
  EXPECT_EQ(both(read), "");
  rates[0] = rates[1] = -1;
  EXPECT_EQ(both(save), "Invalid learning rate: -1.0");
  std::remove(path.c_str());
}

TEST_F(DeviceStepReads, NothingInStepsOfRows) {
  compileRule("adamw");
  make(3);
  for (const std::vector<int64_t> &indices : {std::vector<int64_t>{3}, {}, {0, 1, 4}, {2}})
    stepRowsOfBoth(indices);
  EXPECT_EQ(device->reads, 0u);
  compare();
}

TEST_P(DeviceStepStarts, DependOnTheFirstStepThatIsNotSkipped) {
  const bool isRprop = std::string_view(GetParam()) == "rprop";
  const char *hyper = isRprop ? "lr" : "d0", *state = isRprop ? "step_size" : "d";
  for (bool isAskedFor : {false, true}) {
    make(3);
    float found[2] = {1, 1};
    const upd_tensor views[] = {number(&found[0], UPD_CPU),
                                number(&found[1], runtime::emulatorDevice)};
    ASSERT_TRUE(ok(cpu->bindFoundInf(&views[0])));
    ASSERT_TRUE(ok(onDevice->bindFoundInf(&views[1])));
    for (double value : {0.25, 0.0625}) {
      for (runtime::Optimizer *optimizer : {cpu.get(), onDevice.get()})
        ASSERT_TRUE(ok(optimizer->setHyper(0, hyper, value)));
      stepBoth();
      if (upd_tensor tensor; isAskedFor) {
        EXPECT_EQ(onDevice->state(0, state, tensor).code(), UPD_NOT_FOUND);
      }
    }
    found[0] = found[1] = 0;
    for (double value : {0.125, 0.5, 0.25}) {
      for (runtime::Optimizer *optimizer : {cpu.get(), onDevice.get()})
        ASSERT_TRUE(ok(optimizer->setHyper(0, hyper, value)));
      stepBoth();
      compare();
    }
  }
}

TEST_F(DeviceStepReads, AdjacentStepCountsAreReadAtOnce) {
  constexpr size_t count = 40;
  compileRule("adamw");
  make(count);
  std::vector<float> counts(count);
  for (size_t i = 0; i < count; ++i)
    ASSERT_TRUE(ok(onDevice->bindStep(i, number(&counts[i], runtime::emulatorDevice))));
  EXPECT_EQ(device->reads, count);
  stepBoth();
  device->reads = 0;
  compare();
  EXPECT_EQ(device->reads, 2u);

  // Some in other memory, and with another type.
  double apart = 7;
  upd_tensor view = number(&apart, runtime::emulatorDevice);
  view.dtype = UPD_F64;
  ASSERT_TRUE(ok(onDevice->bindStep(3, view)));
  counts[5] = 11;
  int64_t steps[count];
  ASSERT_TRUE(ok(onDevice->getSteps(steps, count)));
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(steps[i], i == 3 ? 7 : i == 5 ? 11 : 1) << i;
  counts[6] = 0.5;
  EXPECT_EQ(onDevice->getSteps(steps, count).message(),
            "the step count of parameter `6` is 0.5; it is a whole number from 0 to 2^53");
}

// A device counts by itself, so it can't refuse a step: counts stay at the end of their type.
TEST_F(DeviceStepReads, StepCountsStopAtTheLargest) {
  constexpr int64_t largest = int64_t(1) << 53;
  compileRule("adamw");
  make(2);
  const std::string path = testing::TempDir() + "largest-count.safetensors";
  float single = 1 << 24;
  ASSERT_TRUE(ok(onDevice->setStep(0, largest - 1)));
  ASSERT_TRUE(ok(onDevice->bindStep(1, number(&single, runtime::emulatorDevice))));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ok(stepDevice()));
    int64_t steps[2];
    ASSERT_TRUE(ok(onDevice->getSteps(steps, 2)));
    EXPECT_EQ(steps[0], largest);
    EXPECT_EQ(steps[1], 1 << 24);
    ASSERT_TRUE(ok(onDevice->save(path)));
    ASSERT_TRUE(ok(onDevice->load(path)));
  }
  std::remove(path.c_str());
}

TEST_F(DeviceStepReads, ASkippedStepIsReadOnce) {
  constexpr size_t count = 40;
  compileRule("adamw");
  make(count);
  float found = 1;
  const upd_tensor view = number(&found, runtime::emulatorDevice);
  ASSERT_TRUE(ok(onDevice->bindFoundInf(&view)));
  ASSERT_TRUE(ok(stepDevice()));
  device->reads = 0;
  upd_tensor state;
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(onDevice->state(i, "exp_avg", state).code(), UPD_NOT_FOUND);
  EXPECT_EQ(device->reads, 1u);
}
