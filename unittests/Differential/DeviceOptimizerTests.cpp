//===- DeviceOptimizerTests.cpp - What an optimizer asks of its device ------------------------===//
// A device that counts calls and fails one of them: a step that is refused leaves everything as it
// was, and what is asked for waits no more often than it has to.

#include "RuleTable.h"
#include "Sides.h"
#include "lib/CAPI/Handles.h"
#include "runtime/base/DType.h"
#include "runtime/cpu/CpuOptimizer.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/gpu/DeviceOptimizer.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <random>

using namespace updraft;
using namespace updraft::differential;
using runtime::Status;

namespace {

class WatchedDevice final : public gpu::Device {
public:
  std::string name() const override { return "a device that is watched"; }
  int64_t fullBlocks() const override { return emulated.fullBlocks(); }
  Status allocate(size_t bytes, void **memory) override {
    Status status = count();
    if (status.ok())
      status = emulated.allocate(bytes, memory);
    // What nobody has written is a step count, too.
    if (status.ok())
      std::memset(*memory, 0x40, bytes);
    return status;
  }
  void release(void *memory) noexcept override { emulated.release(memory); }
  Status zero(void *memory, size_t bytes, gpu::Stream stream) override {
    Status status = count();
    return status.ok() ? emulated.zero(memory, bytes, stream) : status;
  }
  Status write(void *memory, const void *from, size_t bytes, gpu::Stream stream) override {
    Status status = count();
    return status.ok() ? emulated.write(memory, from, bytes, stream) : status;
  }
  Status read(void *to, const void *memory, size_t bytes, gpu::Stream stream) override {
    ++reads;
    Status status = count();
    return status.ok() ? emulated.read(to, memory, bytes, stream) : status;
  }
  Status wait(gpu::Stream stream) override { return {}; }
  Status isCaptured(gpu::Stream stream, bool &captured) override {
    captured = false;
    return {};
  }
  Status ownStream(gpu::Stream &stream) override {
    stream = this;
    return {};
  }
  Status load(const runtime::GPUKernels &kernels, std::shared_ptr<gpu::Module> &module) override {
    return emulated.load(kernels, module);
  }
  Status loadEngine(std::shared_ptr<gpu::Module> &module) override {
    return emulated.loadEngine(module);
  }
  bool looksAtAccesses() const override { return true; }
  void lend(std::vector<std::pair<const void *, size_t>> memory) override {
    emulated.lend(std::move(memory));
  }
  Status launch(gpu::Kernel kernel, int64_t blocks, void **arguments, gpu::Stream stream) override {
    if (launchesToFailure-- == 0)
      return {UPD_OUT_OF_MEMORY, "the device is full"};
    return emulated.launch(kernel, blocks, arguments, stream);
  }

  size_t reads = 0;
  ptrdiff_t callsToFailure = -1;    ///< negative: none fails
  ptrdiff_t launchesToFailure = -1; ///< likewise

private:
  Status count() {
    if (callsToFailure-- == 0)
      return {UPD_OUT_OF_MEMORY, "the device is full"};
    return {};
  }

  emulator::EmulatedDevice emulated;
};

testing::AssertionResult ok(const Status &status) {
  return status.ok() ? testing::AssertionSuccess()
                     : testing::AssertionFailure() << status.message();
}

/// Vectors of one shape on the CPU, and the same on the device.
class DeviceStepReads : public testing::Test {
protected:
  void compileRule(const char *rule) {
    RuleCase ruleCase = variantsOf(rule).front().instantiate({});
    cpuRule = llvm::cantFail(compile(ruleCase));
    ruleCase.target = "emulator";
    deviceRule = llvm::cantFail(compile(ruleCase));
  }
  /// Starts anew.
  void make(size_t count) {
    device = std::make_shared<WatchedDevice>();
    cpu.reset();
    onDevice.reset();
    for (auto &data : {std::ref(here), std::ref(there), std::ref(grads)})
      data.get().assign(count, std::vector<float>(elements, 0.5f));
    upd_group group{};
    group.param_count = count;
    std::vector<upd_tensor> params = views(here, UPD_CPU);
    group.params = params.data();
    ASSERT_TRUE(ok(runtime::CpuOptimizer::create(cpuRule->kernels, &group, 1, nullptr, cpu)));
    params = views(there, UPD_EMULATOR);
    group.params = params.data();
    ASSERT_TRUE(ok(gpu::DeviceOptimizer::create(device, {UPD_EMULATOR, 0}, deviceRule->kernels,
                                                &group, 1, nullptr, onDevice)));
  }
  std::vector<upd_tensor> views(std::vector<std::vector<float>> &all, upd_device kind) const {
    std::vector<upd_tensor> result;
    for (std::vector<float> &data : all) {
      upd_tensor &tensor = result.emplace_back();
      tensor.data = data.data();
      tensor.shape = &elements;
      tensor.rank = 1;
      tensor.device = kind;
    }
    return result;
  }
  upd_tensor number(void *data, upd_device kind) const {
    upd_tensor tensor{};
    tensor.data = data;
    tensor.device = kind;
    return tensor;
  }
  Status stepDevice() {
    const std::vector<upd_tensor> all = views(grads, UPD_EMULATOR);
    return onDevice->step(all.data(), all.size());
  }
  void stepBoth() {
    const std::vector<upd_tensor> all = views(grads, UPD_CPU);
    ASSERT_TRUE(ok(cpu->step(all.data(), all.size())));
    ASSERT_TRUE(ok(stepDevice()));
  }
  /// One of some elements of the first vector, and one of all of the second.
  Status stepRows(runtime::Optimizer &optimizer, upd_device kind,
                  const std::vector<int64_t> &indices) {
    std::vector<upd_tensor> all = views(grads, kind);
    const auto count = static_cast<int64_t>(indices.size());
    upd_row_grad rows{0, indices.data(), indices.size(), all[0], 0};
    rows.values.shape = &count;
    for (upd_tensor &tensor : all)
      if (&tensor != &all[1])
        tensor.data = nullptr, tensor.rank = -1;
    return optimizer.stepRows(all.data(), all.size(), &rows, 1);
  }
  void stepRowsOfBoth(const std::vector<int64_t> &indices) {
    ASSERT_TRUE(ok(stepRows(*cpu, UPD_CPU, indices)));
    ASSERT_TRUE(ok(stepRows(*onDevice, UPD_EMULATOR, indices)));
  }
  /// Has each call to the device fail that `call` makes after so many steps, one after the other.
  /// `start` makes these steps, and `after` goes on from what is left, in which no parameter has
  /// changed.
  void failAtEachCall(std::initializer_list<int> stepCounts,
                      llvm::function_ref<void(int steps)> start, llvm::function_ref<Status()> call,
                      llvm::function_ref<void()> after) {
    bool anyFailed = false;
    for (const int steps : stepCounts)
      for (ptrdiff_t calls = 0;; ++calls) {
        make(3);
        start(steps);
        const std::vector<std::vector<float>> before = there;
        device->callsToFailure = calls;
        const Status status = call();
        device->callsToFailure = -1;
        if (status.ok())
          break;
        anyFailed = true;
        EXPECT_EQ(status.message(), "the device is full");
        EXPECT_EQ(there, before);
        after();
        compare();
      }
    EXPECT_TRUE(anyFailed);
  }
  void compare() {
    EXPECT_EQ(here, there);
    std::vector<int64_t> steps(here.size()), deviceSteps(here.size());
    ASSERT_TRUE(ok(cpu->getSteps(steps.data(), steps.size())));
    ASSERT_TRUE(ok(onDevice->getSteps(deviceSteps.data(), deviceSteps.size())));
    EXPECT_EQ(steps, deviceSteps);
  }

  const int64_t elements = 5;
  std::shared_ptr<WatchedDevice> device;
  RuleHandle cpuRule, deviceRule;
  std::unique_ptr<runtime::Optimizer> cpu, onDevice;
  std::vector<std::vector<float>> here, there, grads;
};

class DeviceStepCalls : public DeviceStepReads, public testing::WithParamInterface<const char *> {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStepCalls,
                         testing::Values("adamw", "adafactor", "prodigy", "rprop", "sgd"));

/// Rules with states that start from hyperparameters.
class DeviceStepStarts : public DeviceStepCalls {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStepStarts, testing::Values("rprop", "prodigy"));

} // namespace

TEST_P(DeviceStepCalls, ThatFailLeaveEverythingAsItWas) {
  compileRule(GetParam());
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
  compileRule(GetParam());
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
  compileRule(GetParam());
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
    upd_tensor view = number(data.data(), UPD_EMULATOR);
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
      {0, 2}, start, [&] { return onDevice->bindStep(1, number(&count, UPD_EMULATOR)); }, goOn);
  if (found == states.end())
    return;
  failAtEachCall({0, 2}, start, [&] { return bindTo(memory[1]); }, goOn);
  // In place of memory that was bound before, with the value that the state has.
  auto bindFirst = [&](int steps) {
    start(steps);
    upd_tensor state;
    ASSERT_TRUE(ok(onDevice->state(1, found->name.c_str(), state)));
    std::memcpy(memory[0].data(), state.data, elements * sizeof(float));
    ASSERT_TRUE(ok(bindTo(memory[0])));
  };
  failAtEachCall({2}, bindFirst, [&] { return bindTo(memory[1]); }, goOn);
}

/// Which leaves the optimizer as it was, or says that it did not.
TEST_P(DeviceStepCalls, ThatLoadAndFailAreNotSteppedOn) {
  compileRule(GetParam());
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
          ASSERT_TRUE(ok(onDevice->bindStep(1, number(&count, UPD_EMULATOR))));
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
          EXPECT_EQ(onDevice->apply().code(), UPD_INVALID_ARGUMENT);
          EXPECT_EQ(onDevice->save(other).message(), refused);
          EXPECT_EQ(there, before);
          // Once more, failing at once.
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

TEST_F(DeviceStepReads, HyperparametersThatAreSavedAsTheyAreThen) {
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
    const upd_tensor view = number(&rates[side], side ? UPD_EMULATOR : UPD_CPU);
    return optimizer.readHyper(0, "lr", &view);
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
    expectRate(0.5); // what was set
    rates[0] = rates[1] = 0.125f;
    ASSERT_TRUE(ok(saved->save(path)));
    // What has none to read has that from then on.
    EXPECT_EQ(both([&](auto &optimizer, int) { return optimizer.load(path); }), "");
    expectRate(0.125);
    stepBoth();
    compare();
    EXPECT_EQ(both([](auto &optimizer, int) { return optimizer.setHyper(0, "lr", 0.5); }), "");
  }
  // Without a load it is again what was set.
  EXPECT_EQ(both(read), "");
  stepBoth();
  EXPECT_EQ(both([](auto &optimizer, int) { return optimizer.readHyper(0, "lr", nullptr); }), "");
  expectRate(0.5);
  stepBoth();
  compare();
  EXPECT_EQ(both(read), "");
  rates[0] = rates[1] = -1;
  EXPECT_EQ(both(save), "Invalid learning rate: -1.0");
  std::remove(path.c_str());
}

TEST_F(DeviceStepReads, RowsThatFailLeaveEverythingAsItWas) {
  auto start = [&](int steps) {
    for (int i = 0; i < steps; ++i)
      i == 0 ? stepBoth() : stepRowsOfBoth({1, 2});
  };
  for (const char *rule : {"adamw", "sgd"}) {
    compileRule(rule);
    failAtEachCall(
        {0, 1, 2}, start, [&] { return stepRows(*onDevice, UPD_EMULATOR, {0, 2, 4}); },
        [&] {
          stepBoth();
          stepRowsOfBoth({0, 2, 4});
          stepBoth();
        });
  }
}

TEST_F(DeviceStepReads, NothingInStepsOfRows) {
  compileRule("adamw");
  make(3);
  for (const std::vector<int64_t> &indices : {std::vector<int64_t>{3}, {}, {0, 1, 4}, {2}})
    stepRowsOfBoth(indices);
  EXPECT_EQ(device->reads, 0u);
  compare();
}

TEST_P(DeviceStepCalls, ThatFailAmongOthersAreCountedOrNot) {
  compileRule(GetParam());
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

TEST_P(DeviceStepStarts, AreThoseOfTheFirstStepThatIsTaken) {
  const bool isRprop = std::string_view(GetParam()) == "rprop";
  const char *hyper = isRprop ? "lr" : "d0", *state = isRprop ? "step_size" : "d";
  compileRule(GetParam());
  for (bool isAskedFor : {false, true}) {
    make(3);
    float found[2] = {1, 1};
    const upd_tensor views[] = {number(&found[0], UPD_CPU), number(&found[1], UPD_EMULATOR)};
    ASSERT_TRUE(ok(cpu->setFoundInf(&views[0])));
    ASSERT_TRUE(ok(onDevice->setFoundInf(&views[1])));
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

TEST_F(DeviceStepReads, StepCountsThatAreSideBySideAtOnce) {
  constexpr size_t count = 40;
  compileRule("adamw");
  make(count);
  std::vector<float> counts(count);
  for (size_t i = 0; i < count; ++i)
    ASSERT_TRUE(ok(onDevice->bindStep(i, number(&counts[i], UPD_EMULATOR))));
  EXPECT_EQ(device->reads, count);
  stepBoth();
  device->reads = 0;
  compare();
  EXPECT_EQ(device->reads, 2u);

  // Some elsewhere, and of another type.
  double apart = 7;
  upd_tensor view = number(&apart, UPD_EMULATOR);
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

TEST_F(DeviceStepReads, WhatWasSkippedOnce) {
  constexpr size_t count = 40;
  compileRule("adamw");
  make(count);
  float found = 1;
  const upd_tensor view = number(&found, UPD_EMULATOR);
  ASSERT_TRUE(ok(onDevice->setFoundInf(&view)));
  ASSERT_TRUE(ok(stepDevice()));
  device->reads = 0;
  upd_tensor state;
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(onDevice->state(i, "exp_avg", state).code(), UPD_NOT_FOUND);
  EXPECT_EQ(device->reads, 1u);
}

TEST_P(DeviceStepCalls, InAnyOrderAreThoseOfTheCPU) {
  compileRule(GetParam());
  const std::string path = testing::TempDir() + "calls-" + GetParam() + ".safetensors";
  constexpr size_t count = 3;
  for (unsigned seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE(seed);
    make(count);
    std::mt19937 random(seed);
    auto below = [&](int bound) { return static_cast<int>(random() % bound); };
    float found[2] = {};
    const upd_tensor founds[] = {number(&found[0], UPD_CPU), number(&found[1], UPD_EMULATOR)};
    ASSERT_TRUE(ok(cpu->setFoundInf(&founds[0])));
    ASSERT_TRUE(ok(onDevice->setFoundInf(&founds[1])));
    std::deque<std::vector<float>> bound; // stays where it is
    std::vector<float> counts(count);
    std::vector<bool> isCountBound(count);
    std::string calls;
    for (int call = 0; call < 20; ++call) {
      const int what = below(10);
      const auto param = static_cast<size_t>(below(count));
      calls += std::to_string(what) + "/" + std::to_string(param) + " ";
      SCOPED_TRACE(calls);
      // The same on both sides, or refused in the same way.
      auto both = [&](auto body) {
        const Status here = body(*cpu, 0), there = body(*onDevice, 1);
        EXPECT_EQ(here.code(), there.code()) << here.message() << there.message();
        EXPECT_EQ(here.message(), there.message());
      };
      if (what < 4) {
        found[0] = found[1] = below(4) == 0;
        for (std::vector<float> &grad : grads)
          for (float &element : grad)
            element = static_cast<float>(below(64) - 32) / 16;
        const int absent = below(6);
        const bool isApplied = below(4) != 0, isWhole = below(2) != 0;
        both([&](runtime::Optimizer &optimizer, int side) {
          std::vector<upd_tensor> all = views(grads, side ? UPD_EMULATOR : UPD_CPU);
          if (absent < 3) {
            all[absent] = {};
            all[absent].rank = -1;
          }
          if (isWhole)
            return optimizer.step(all.data(), all.size());
          Status status = optimizer.prepareRows(all.data(), all.size(), nullptr, 0);
          return status.ok() && isApplied ? optimizer.apply() : status;
        });
      } else if (what == 4) {
        const double value = (below(8) - 1) / 16.0;
        both(
            [&](runtime::Optimizer &optimizer, int) { return optimizer.setHyper(0, "lr", value); });
      } else if (what == 5) {
        const int64_t step = below(5);
        both([&](runtime::Optimizer &optimizer, int) { return optimizer.setStep(param, step); });
      } else if (what == 6) {
        const auto &states = cpu->interface().states;
        if (states.empty())
          continue;
        const runtime::StateInterface &state = states[below(static_cast<int>(states.size()))];
        bound.emplace_back(elements, 0.75f);
        bound.emplace_back(elements, 0.75f);
        both([&](runtime::Optimizer &optimizer, int side) {
          upd_tensor view =
              number(bound[bound.size() - 1 - side].data(), side ? UPD_EMULATOR : UPD_CPU);
          view.dtype = state.dtype;
          if (state.over == runtime::Extent::Element) {
            view.shape = &elements;
            view.rank = 1;
          }
          return optimizer.bindState(param, state.name.c_str(), view);
        });
      } else if (what == 7) {
        const bool fromCpu = below(2) != 0;
        ASSERT_TRUE(ok((fromCpu ? cpu : onDevice)->save(path)));
        if (below(2))
          both([&](runtime::Optimizer &optimizer, int) { return optimizer.load(path); });
      } else if (what == 8) {
        int64_t step;
        ASSERT_TRUE(ok(cpu->getStep(param, step)));
        if (!isCountBound[param]) {
          counts[param] = static_cast<float>(step);
          isCountBound[param] = true;
          ASSERT_TRUE(ok(onDevice->bindStep(param, number(&counts[param], UPD_EMULATOR))));
        }
      } else {
        for (const runtime::StateInterface &state : cpu->interface().states)
          both([&](runtime::Optimizer &optimizer, int) {
            upd_tensor view;
            return optimizer.state(param, state.name.c_str(), view);
          });
      }
    }
    compare();
    for (size_t i = 0; i < count; ++i)
      for (const runtime::StateInterface &state : cpu->interface().states) {
        upd_tensor views[2];
        if (!cpu->state(i, state.name.c_str(), views[0]).ok())
          continue;
        ASSERT_TRUE(ok(onDevice->state(i, state.name.c_str(), views[1]))) << state.name;
        const size_t bytes = runtime::sizeOf(state.dtype) * (views[0].rank ? elements : 1);
        EXPECT_EQ(std::memcmp(views[0].data, views[1].data, bytes), 0) << state.name << calls;
      }
    if (HasFailure())
      return;
  }
  std::remove(path.c_str());
}
