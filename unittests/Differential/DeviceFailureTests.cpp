//===- DeviceFailureTests.cpp - Calls of a device that fail -----------------------------------===//
// After an error, either nothing has changed, or the error says so.

#include "WatchedSteps.h"

#include <cstdio>

using namespace updraft;
using namespace updraft::differential;

namespace {
class DeviceStepCalls : public WatchedRuleSteps {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStepCalls, watchedRules());

class DeviceStepRows : public WatchedSteps {};
} // namespace

TEST_P(DeviceStepCalls, ThatFailLeaveEverythingAsItWas) {
  auto start = [&](int steps) {
    for (int i = 0; i < steps; ++i)
      stepBoth();
    // Other memory, other hyperparameters.
    grads.assign(3, std::vector<float>(elements, 0.25f));
    for (runtime::Optimizer *optimizer : {cpu.get(), onDevice.get()})
      ASSERT_TRUE(ok(optimizer->setHyper(0, "lr", 0.125)));
  };
  failAtEachCall(
      {0, 2}, start, [&] { return stepDevice(); },
      [&] {
        for (int i = 0; i < 2; ++i)
          stepBoth();
      });
}

TEST_P(DeviceStepCalls, ThatSetACountAndFailLeaveIt) {
  auto start = [&](int steps) {
    for (int i = 0; i < steps; ++i)
      stepBoth();
  };
  failAtEachCall(
      {0, 2}, start, [&] { return onDevice->setStep(1, 7); },
      [&] {
        compare();
        stepBoth();
      });
}

TEST_P(DeviceStepCalls, ThatBindAndFailBindNothing) {
  const std::vector<runtime::StateInterface> &states = deviceRule->kernels->interface.states;
  auto isBound = [](const runtime::StateInterface &state) {
    return state.over == runtime::Extent::Element;
  };
  auto found = std::find_if(states.begin(), states.end(), isBound);
  std::vector<float> memory[2];
  float count = 0;
  auto start = [&](int steps) {
    for (std::vector<float> &each : memory)
      each.assign(elements, 0.75f);
    for (int i = 0; i < steps; ++i)
      stepBoth();
    count = static_cast<float>(steps + 5);
  };
  auto bindTo = [&](std::vector<float> &data) {
    upd_tensor view = number(data.data(), runtime::emulatorDevice);
    view.shape = &elements;
    view.rank = 1;
    return onDevice->bindState(1, found->name.c_str(), view);
  };
  auto goOn = [&] {
    compare();
    stepBoth();
    EXPECT_EQ(memory[1], std::vector<float>(elements, 0.75f));
  };
  failAtEachCall(
      {0, 2}, start, [&] { return onDevice->bindStep(1, number(&count, runtime::emulatorDevice)); },
      goOn);
  if (found == states.end())
    return;
  failAtEachCall({0, 2}, start, [&] { return bindTo(memory[1]); }, goOn);
  // Replaces bound memory by memory with the state's value.
  auto bindFirst = [&](int steps) {
    start(steps);
    upd_tensor state;
    ASSERT_TRUE(ok(onDevice->state(1, found->name.c_str(), state)));
    std::memcpy(memory[0].data(), state.data, elements * sizeof(float));
    ASSERT_TRUE(ok(bindTo(memory[0])));
  };
  failAtEachCall({2}, bindFirst, [&] { return bindTo(memory[1]); }, goOn);
}

/// The optimizer is unchanged, or the error says that it isn't.
TEST_P(DeviceStepCalls, ThatLoadAndFailAreNotSteppedOn) {
  const std::string path = testing::TempDir() + "loaded-" + GetParam() + ".safetensors";
  const std::string other = testing::TempDir() + "half-" + GetParam() + ".safetensors";
  const std::string half = "the device is full; states are those of `" + path +
                           "` in part, so load it again, or another file";
  const std::string refused =
      "a load of `" + path +
      "` has failed half-way, so states are those of the file in part only; "
      "load it again, or another file";
  make(3);
  for (int i = 0; i < 4; ++i)
    stepBoth();
  ASSERT_TRUE(ok(cpu->save(path)));
  bool anyWhole = false, anyHalf = false;
  for (const int steps : {0, 2})
    for (const bool isCountBound : {false, true})
      for (ptrdiff_t calls = 0;; ++calls) {
        SCOPED_TRACE(testing::Message() << steps << " steps, " << calls << " calls");
        make(3);
        float count = 0;
        if (isCountBound)
          ASSERT_TRUE(ok(onDevice->bindStep(1, number(&count, runtime::emulatorDevice))));
        for (int i = 0; i < steps; ++i)
          stepBoth();
        device->callsToFailure = calls;
        const Status status = onDevice->load(path);
        device->callsToFailure = -1;
        if (status.ok())
          break;
        const bool isHalf = status.message() == half;
        (isHalf ? anyHalf : anyWhole) = true;
        if (isHalf) {
          const std::vector<std::vector<float>> before = there;
          EXPECT_EQ(stepDevice().message(), refused);
          EXPECT_EQ(onDevice->apply(nullptr).code(), UPD_INVALID_ARGUMENT);
          EXPECT_EQ(onDevice->save(other).message(), refused);
          EXPECT_EQ(there, before);
          // The next call fails immediately.
          device->callsToFailure = 0;
          EXPECT_FALSE(onDevice->load(path).ok());
          device->callsToFailure = -1;
          EXPECT_EQ(stepDevice().message(), refused);
          ASSERT_TRUE(ok(onDevice->load(path)));
          ASSERT_TRUE(ok(cpu->load(path)));
        } else {
          EXPECT_EQ(status.message(), "the device is full");
        }
        compare();
        stepBoth();
        compare();
      }
  EXPECT_EQ(anyWhole, !cpu->interface().states.empty());
  EXPECT_TRUE(anyHalf);
  std::remove(path.c_str());
}

TEST_P(DeviceStepCalls, ThatFailHalfwayLeaveConsistentCounts) {
  for (ptrdiff_t launches = 0;; ++launches) {
    make(3);
    device->launchesToFailure = launches;
    if (stepDevice().ok())
      break;
    device->launchesToFailure = -1;
    int64_t before[3], after[3];
    ASSERT_TRUE(ok(onDevice->getSteps(before, 3)));
    ASSERT_TRUE(ok(stepDevice()));
    ASSERT_TRUE(ok(onDevice->getSteps(after, 3)));
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(after[i], before[i] + 1) << launches;
    upd_tensor state;
    for (const runtime::StateInterface &each : onDevice->interface().states)
      if (each.tensors != runtime::TensorClass::Matrix)
        EXPECT_TRUE(ok(onDevice->state(0, each.name.c_str(), state)));
  }
}

TEST_F(DeviceStepRows, ThatFailLeaveEverythingAsItWas) {
  auto start = [&](int steps) {
    for (int i = 0; i < steps; ++i)
      i == 0 ? stepBoth() : stepRowsOfBoth({1, 2});
  };
  for (const char *rule : {"adamw", "sgd"}) {
    compileRule(rule);
    failAtEachCall(
        {0, 1, 2}, start, [&] { return stepRows(*onDevice, runtime::emulatorDevice, {0, 2, 4}); },
        [&] {
          stepBoth();
          stepRowsOfBoth({0, 2, 4});
          stepBoth();
        });
  }
}
