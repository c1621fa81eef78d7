//===- WatchedSteps.h - Optimizers on the CPU and a watched device ------------------*- C++ -*-===//
// The device counts calls, and can make one of them fail.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_WATCHEDSTEPS_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_WATCHEDSTEPS_H

#include "RuleTable.h"
#include "Sides.h"
#include "runtime/capi/Handles.h"
#include "runtime/cpu/CpuOptimizer.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/gpu/DeviceOptimizer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace updraft::differential {

using runtime::Status;

class WatchedDevice final : public gpu::Device {
public:
  std::string name() const override { return "a device that is watched"; }
  int64_t fullBlocks() const override { return emulated.fullBlocks(); }
  Status allocate(size_t bytes, void **memory) override {
    Status status = count();
    if (status.ok())
      status = emulated.allocate(bytes, memory);
    // Unwritten memory may be read as a step count too.
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
  Status wait(gpu::Stream stream) override {
    ++waits;
    return {};
  }
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

  size_t reads = 0, waits = 0;
  ptrdiff_t callsToFailure = -1;    ///< negative: no call fails
  ptrdiff_t launchesToFailure = -1; ///< the same for launches

private:
  Status count() {
    if (callsToFailure-- == 0)
      return {UPD_OUT_OF_MEMORY, "the device is full"};
    return {};
  }

  emulator::EmulatedDevice emulated;
};

inline testing::AssertionResult ok(const Status &status) {
  return status.ok() ? testing::AssertionSuccess()
                     : testing::AssertionFailure() << status.message();
}

/// Tensors of one shape on the CPU, and the same on the device. By default they are vectors.
class WatchedSteps : public testing::Test {
protected:
  void compileRule(const char *rule) {
    RuleCase ruleCase = variantsOf(rule).front().instantiate({});
    cpuRule = llvm::cantFail(compile(ruleCase));
    ruleCase.target = "emulator";
    deviceRule = llvm::cantFail(compile(ruleCase));
  }
  /// Starts over.
  void make(size_t count) {
    device = std::make_shared<WatchedDevice>();
    cpu.reset();
    onDevice.reset();
    for (auto &data : {std::ref(here), std::ref(there), std::ref(grads)})
      data.get().assign(count, std::vector<float>(elementsOf(shape), 0.5f));
    upd_group group{};
    group.param_count = count;
    std::vector<upd_tensor> params = views(here, UPD_CPU);
    group.params = params.data();
    ASSERT_TRUE(ok(runtime::CpuOptimizer::create(cpuRule->kernels, &group, 1, nullptr, cpu)));
    params = views(there, runtime::emulatorDevice);
    group.params = params.data();
    ASSERT_TRUE(ok(gpu::DeviceOptimizer::create(
        device, {runtime::emulatorDevice, 0}, deviceRule->kernels, &group, 1, nullptr, onDevice)));
  }
  std::vector<upd_tensor> views(std::vector<std::vector<float>> &all, upd_device kind) const {
    std::vector<upd_tensor> result;
    for (std::vector<float> &data : all) {
      upd_tensor &tensor = result.emplace_back();
      tensor.data = data.data();
      tensor.shape = shape.data();
      tensor.rank = static_cast<int32_t>(shape.size());
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
    const std::vector<upd_tensor> all = views(grads, runtime::emulatorDevice);
    return onDevice->step(all.data(), all.size());
  }
  void stepBoth() {
    const std::vector<upd_tensor> all = views(grads, UPD_CPU);
    ASSERT_TRUE(ok(cpu->step(all.data(), all.size())));
    ASSERT_TRUE(ok(stepDevice()));
  }
  /// Steps some elements of the first vector, and all of the second.
  Status stepRows(runtime::Optimizer &optimizer, upd_device kind,
                  const std::vector<int64_t> &indices) {
    std::vector<upd_tensor> all = views(grads, kind);
    const auto count = static_cast<int64_t>(indices.size());
    upd_row_grad rows{0, indices.data(), indices.size(), all[0], 0};
    rows.values.shape = &count;
    for (upd_tensor &tensor : all)
      if (&tensor != &all[1])
        tensor.data = nullptr, tensor.rank = UPD_ABSENT;
    return optimizer.stepRows(all.data(), all.size(), &rows, 1);
  }
  void stepRowsOfBoth(const std::vector<int64_t> &indices) {
    ASSERT_TRUE(ok(stepRows(*cpu, UPD_CPU, indices)));
    ASSERT_TRUE(ok(stepRows(*onDevice, runtime::emulatorDevice, indices)));
  }
  /// Makes each device call of `call` fail in turn, after each number of steps. `start` takes these
  /// steps. `after` continues from the state after the failure, in which no parameter may have
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

  static size_t elementsOf(const std::vector<int64_t> &shape) {
    size_t count = 1;
    for (int64_t size : shape)
      count *= static_cast<size_t>(size);
    return count;
  }

  const int64_t elements = 5;
  std::vector<int64_t> shape = {elements}; ///< of every tensor
  std::shared_ptr<WatchedDevice> device;
  RuleHandle cpuRule, deviceRule;
  std::unique_ptr<runtime::Optimizer> cpu, onDevice;
  std::vector<std::vector<float>> here, there, grads;
};

/// The same for the rule of the test's parameter.
class WatchedRuleSteps : public WatchedSteps, public testing::WithParamInterface<const char *> {
protected:
  void SetUp() override { compileRule(GetParam()); }
};

/// Rules without states, and with states of elements, rows, columns and the whole group.
inline auto watchedRules() {
  return testing::Values("adamw", "adafactor", "prodigy", "rprop", "sgd");
}

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_WATCHEDSTEPS_H
