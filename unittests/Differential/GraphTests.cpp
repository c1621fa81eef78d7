//===- GraphTests.cpp - Steps that are captured into graphs -----------------------------------===//
// A device that records launches while a stream is captured, and runs them when the graph is
// replayed. Calls that a capture forbids fail. A mix of replays and other steps must have the same
// result as on the CPU.

#include "RuleTable.h"
#include "Sides.h"
#include "runtime/capi/Handles.h"
#include "runtime/cpu/CpuOptimizer.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/gpu/DeviceOptimizer.h"

#include <cstring>
#include <functional>

using namespace updraft;
using namespace updraft::differential;
using runtime::Status;

namespace {

class CapturingDevice final : public gpu::Device {
public:
  std::string name() const override { return "a device that captures"; }
  int64_t fullBlocks() const override { return emulated.fullBlocks(); }
  Status allocate(size_t bytes, void **memory) override {
    ++allocations;
    return emulated.allocate(bytes, memory);
  }
  void release(void *memory) noexcept override { emulated.release(memory); }
  Status load(const runtime::GPUKernels &kernels, std::shared_ptr<gpu::Module> &module) override {
    return rename(emulated.load(kernels, module), module);
  }
  Status loadEngine(std::shared_ptr<gpu::Module> &module) override {
    return rename(emulated.loadEngine(module), module);
  }
  bool looksAtAccesses() const override { return true; }
  void lend(std::vector<std::pair<const void *, size_t>> memory) override {
    // A graph may access the memory that was lent during its capture.
    lent.insert(lent.end(), memory.begin(), memory.end());
    emulated.lend(lent);
  }

  Status zero(void *memory, size_t bytes, gpu::Stream stream) override {
    Status status = refuse(stream, "zero");
    return status.ok() ? emulated.zero(memory, bytes, stream) : status;
  }
  Status write(void *memory, const void *from, size_t bytes, gpu::Stream stream) override {
    Status status = refuse(stream, "write");
    return status.ok() ? emulated.write(memory, from, bytes, stream) : status;
  }
  Status read(void *to, const void *memory, size_t bytes, gpu::Stream stream) override {
    Status status = refuse(stream, "read");
    return status.ok() ? emulated.read(to, memory, bytes, stream) : status;
  }
  Status wait(gpu::Stream stream) override { return refuse(stream, "wait"); }
  Status isCaptured(gpu::Stream stream, bool &captured) override {
    captured = isCapturing && stream == nullptr;
    return {};
  }
  Status ownStream(gpu::Stream &stream) override {
    stream = this;
    return {};
  }
  Status launch(gpu::Kernel kernel, int64_t blocks, void **arguments, gpu::Stream stream) override {
    launched.push_back(names.at(kernel));
    if (!isCapturing || stream != nullptr)
      return emulated.launch(kernel, blocks, arguments, stream);
    // Each argument is a pointer or a number of 64 bits.
    std::vector<uint64_t> values(counts.at(kernel));
    for (size_t i = 0; i < values.size(); ++i)
      std::memcpy(&values[i], arguments[i], sizeof(values[i]));
    graph.emplace_back([this, kernel, blocks, values = std::move(values)]() mutable {
      std::vector<void *> addresses;
      for (uint64_t &value : values)
        addresses.push_back(&value);
      return emulated.launch(kernel, blocks, addresses.data(), nullptr);
    });
    return {};
  }

  /// The names of kernels.
  std::vector<std::string> launched;
  size_t allocations = 0;

  using Graph = std::vector<std::function<Status()>>;
  void beginCapture() { isCapturing = true; }
  Graph endCapture() {
    isCapturing = false;
    return std::exchange(graph, {});
  }

private:
  /// A module that knows the number of arguments of its kernels.
  class Counted final : public gpu::Module {
  public:
    Counted(std::shared_ptr<gpu::Module> module, CapturingDevice &device)
        : module(std::move(module)), device(device) {}
    Status find(const std::string &name, gpu::Kernel &kernel) override {
      Status status = module->find(name, kernel);
      const llvm::StringRef text(name);
      device.counts[kernel] = text.contains("_sweep") ? 6 : text == "updraft_begin" ? 3 : 2;
      device.names[kernel] = name;
      return status;
    }

  private:
    std::shared_ptr<gpu::Module> module;
    CapturingDevice &device;
  };

  Status rename(Status status, std::shared_ptr<gpu::Module> &module) {
    if (status.ok())
      module = std::make_shared<Counted>(module, *this);
    return status;
  }
  Status refuse(gpu::Stream stream, const char *what) const {
    if (isCapturing && stream == nullptr)
      return {UPD_UNSUPPORTED, std::string("cannot ") + what + " while a graph is captured"};
    return {};
  }

  emulator::EmulatedDevice emulated;
  std::map<gpu::Kernel, size_t> counts;
  std::map<gpu::Kernel, std::string> names;
  std::vector<std::pair<const void *, size_t>> lent;
  bool isCapturing = false;
  Graph graph;
};

/// Two vectors and a matrix, stepped by both sides.
class Graphs : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    RuleCase ruleCase = variantsOf(GetParam()).front().instantiate({});
    cpuRule = llvm::cantFail(compile(ruleCase));
    ruleCase.target = "emulator";
    deviceRule = llvm::cantFail(compile(ruleCase));
    for (size_t i = 0; i < 3; ++i) {
      here[i].assign(count, 1.0f + static_cast<float>(i));
      there[i] = here[i];
      for (std::vector<float> &grads : {std::ref(first[i]), std::ref(second[i])})
        grads.assign(count, 0.5f);
      cpuParams[i] = view(i, here[i], UPD_CPU);
      deviceParams[i] = view(i, there[i], runtime::emulatorDevice);
    }
    upd_group group{};
    group.params = cpuParams;
    group.param_count = 3;
    ASSERT_TRUE(ok(runtime::CpuOptimizer::create(cpuRule->kernels, &group, 1, nullptr, cpu)));
    group.params = deviceParams;
    ASSERT_TRUE(ok(gpu::DeviceOptimizer::create(
        device, {runtime::emulatorDevice, 0}, deviceRule->kernels, &group, 1, nullptr, onDevice)));
  }

  static testing::AssertionResult ok(const Status &status) {
    return status.ok() ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << status.message();
  }
  upd_tensor view(size_t param, std::vector<float> &data, upd_device kind) const {
    upd_tensor tensor{};
    tensor.data = data.data();
    tensor.shape = param == 2 ? matrix : &vector;
    tensor.rank = param == 2 ? 2 : 1;
    tensor.device = kind;
    return tensor;
  }
  /// Changes the gradients for every step.
  void change(std::vector<float> *grads, float by) {
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < count; ++j)
        grads[i][j] = by * static_cast<float>(j + 1) - static_cast<float>(i);
  }
  void stepCpu(std::vector<float> *grads) {
    upd_tensor views[3];
    for (size_t i = 0; i < 3; ++i)
      views[i] = view(i, grads[i], UPD_CPU);
    ASSERT_TRUE(ok(cpu->step(views, 3)));
  }
  Status stepDevice(std::vector<float> *grads) {
    upd_tensor views[3];
    for (size_t i = 0; i < 3; ++i)
      views[i] = view(i, grads[i], runtime::emulatorDevice);
    return onDevice->step(views, 3);
  }
  CapturingDevice::Graph captureStep(std::vector<float> *grads) {
    device->beginCapture();
    EXPECT_TRUE(ok(stepDevice(grads)));
    return device->endCapture();
  }
  void replay(CapturingDevice::Graph &graph) {
    for (const std::function<Status()> &launch : graph)
      ASSERT_TRUE(ok(launch()));
  }
  void compare() {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(std::memcmp(here[i].data(), there[i].data(), count * sizeof(float)), 0) << i;
      int64_t steps, deviceSteps;
      ASSERT_TRUE(ok(cpu->getStep(i, steps)));
      ASSERT_TRUE(ok(onDevice->getStep(i, deviceSteps)));
      EXPECT_EQ(steps, deviceSteps);
    }
  }

  static constexpr size_t count = 12;
  const int64_t vector = count, matrix[2] = {3, 4};
  std::shared_ptr<CapturingDevice> device = std::make_shared<CapturingDevice>();
  RuleHandle cpuRule, deviceRule;
  std::unique_ptr<runtime::Optimizer> cpu, onDevice;
  std::vector<float> here[3], there[3], first[3], second[3];
  upd_tensor cpuParams[3], deviceParams[3];
};

INSTANTIATE_TEST_SUITE_P(All, Graphs, testing::Values("adamw", "adafactor", "prodigy", "sgd"));

/// Rules that can step rows.
class GraphsBesideRows : public Graphs {};

INSTANTIATE_TEST_SUITE_P(All, GraphsBesideRows, testing::Values("adamw", "sgd"));

} // namespace

TEST_P(Graphs, AreReplayedBetweenOtherSteps) {
  change(first, 0.25f);
  stepCpu(first);
  ASSERT_TRUE(ok(stepDevice(first)));

  CapturingDevice::Graph graph = captureStep(first);
  compare(); // nothing has run

  for (int round = 1; round < 4; ++round) {
    change(first, 0.125f * static_cast<float>(round));
    stepCpu(first);
    replay(graph);
    compare();
    change(second, -0.25f * static_cast<float>(round));
    stepCpu(second);
    ASSERT_TRUE(ok(stepDevice(second)));
    compare();
  }
}

TEST_P(Graphs, HaveAFirstStepOfTheirOwn) {
  change(first, 0.25f);
  CapturingDevice::Graph graph = captureStep(first);
  for (int round = 0; round < 3; ++round) {
    stepCpu(first);
    replay(graph);
    compare();
  }
}

TEST_P(Graphs, ReadALearningRateThatChanges) {
  float rate = 0.5f;
  upd_tensor number{};
  number.data = &rate;
  for (auto [optimizer, kind] :
       {std::pair(cpu.get(), UPD_CPU), {onDevice.get(), runtime::emulatorDevice}}) {
    number.device = kind;
    ASSERT_TRUE(ok(optimizer->bindHyper(0, "lr", &number)));
  }
  change(first, 0.25f);
  stepCpu(first);
  ASSERT_TRUE(ok(stepDevice(first)));
  CapturingDevice::Graph graph = captureStep(first);
  for (float next : {0.25f, 0.125f, 1.0f}) {
    rate = next;
    stepCpu(first);
    replay(graph);
    compare();
  }
}

TEST_P(Graphs, RefuseOperationsThatWait) {
  ASSERT_TRUE(ok(stepDevice(first)));
  device->beginCapture();
  int64_t step;
  EXPECT_EQ(onDevice->getStep(0, step).message(), "cannot read while a graph is captured");
  EXPECT_EQ(onDevice->setStep(0, 3).message(), "cannot read while a graph is captured");
  device->endCapture();
  ASSERT_TRUE(ok(onDevice->getStep(0, step)));
  EXPECT_EQ(step, 1);
}

TEST_P(GraphsBesideRows, HaveNoGradientsOfRows) {
  const int64_t indices[] = {0, 2, 5};
  auto stepRows = [&](runtime::Optimizer &optimizer, size_t count, upd_device kind) {
    const auto rows = static_cast<int64_t>(count);
    upd_row_grad gradient{0, indices, count, view(0, first[0], kind), 0};
    gradient.values.shape = &rows;
    return optimizer.stepRows(nullptr, 0, &gradient, 1);
  };
  change(first, 0.25f);
  ASSERT_TRUE(ok(stepRows(*cpu, 3, UPD_CPU)));
  ASSERT_TRUE(ok(stepRows(*onDevice, 3, runtime::emulatorDevice)));
  device->beginCapture();
  const Status status = stepRows(*onDevice, 3, runtime::emulatorDevice);
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "gradients of some rows are given while a graph is captured, but how many rows there "
            "are differs from replay to replay; give gradients of whole parameters, or step "
            "outside of the graph");
  EXPECT_TRUE(device->endCapture().empty());
  // Replays the captured step between steps of rows.
  stepCpu(second);
  ASSERT_TRUE(ok(stepDevice(second)));
  CapturingDevice::Graph graph = captureStep(second);
  for (const size_t count : {2, 3, 1}) {
    const size_t before = device->allocations;
    ASSERT_TRUE(ok(stepRows(*cpu, count, UPD_CPU)));
    ASSERT_TRUE(ok(stepRows(*onDevice, count, runtime::emulatorDevice)));
    EXPECT_EQ(device->allocations, before); // no more rows than before
    stepCpu(second);
    replay(graph);
    compare();
  }
}

class GraphsWithCalls : public Graphs {};

INSTANTIATE_TEST_SUITE_P(All, GraphsWithCalls, testing::Values("soap"));

TEST_P(GraphsWithCalls, AreRefused) {
  change(first, 0.25f);
  stepCpu(first);
  ASSERT_TRUE(ok(stepDevice(first)));
  device->beginCapture();
  const Status status = stepDevice(first);
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "rule `SOAP` computes `eigenvalues` of parameter `2` on the host, which can't be "
            "captured in a graph; step outside of the graph, or give gradients of parameters with "
            "fewer than two dimensions only");
  EXPECT_TRUE(device->endCapture().empty());
  compare();
  stepCpu(first);
  ASSERT_TRUE(ok(stepDevice(first)));
  compare();
}

/// The kernels in a step, other than the first, of this many vectors with gradients.
static std::vector<std::string> kernelsOfAStep(const RuleCase &ruleCase, size_t count) {
  RuleCase onEmulator = ruleCase;
  onEmulator.target = "emulator";
  const RuleHandle rule = llvm::cantFail(compile(onEmulator));
  auto device = std::make_shared<CapturingDevice>();
  const int64_t shape[] = {3};
  std::vector<float> params(3 * count, 1.0f), grads(3 * count, 0.5f), otherGrads = grads;
  std::vector<upd_tensor> paramViews(count), gradViews(count);
  for (size_t i = 0; i < count; ++i) {
    paramViews[i].data = &params[3 * i];
    paramViews[i].shape = shape;
    paramViews[i].rank = 1;
    paramViews[i].device = runtime::emulatorDevice;
    gradViews[i] = paramViews[i];
    gradViews[i].data = &grads[3 * i];
  }
  upd_group group{};
  group.params = paramViews.data();
  group.param_count = count;
  std::unique_ptr<runtime::Optimizer> optimizer;
  Status status = gpu::DeviceOptimizer::create(device, {runtime::emulatorDevice, 0}, rule->kernels,
                                               &group, 1, nullptr, optimizer);
  for (int step = 0; step < 3 && status.ok(); ++step) {
    device->launched.clear();
    const size_t before = device->allocations;
    status = optimizer->step(gradViews.data(), count);
    EXPECT_EQ(step == 0, device->allocations != before) << "step " << step;
    // Uses other memory from now on.
    for (size_t i = 0; i < count; ++i)
      gradViews[i].data = &otherGrads[3 * i];
  }
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_NE(params.back(), 1.0f);
  return device->launched;
}

TEST(DeviceStepLaunches, OneLaunchGoesOverTheDataOfAnyNumberOfTensors) {
  const std::vector<std::string> expected = {"updraft_begin", "AdamW_prologue0", "AdamW_sweep0",
                                             "updraft_commit"};
  const RuleCase ruleCase = variantsOf("adamw").front().instantiate({});
  for (size_t count : {1, 21000})
    EXPECT_EQ(kernelsOfAStep(ruleCase, count), expected);
}

TEST(DeviceStepLaunches, ClippingByTheNormOfAllTakesTwoLaunchesOverTheData) {
  RuleCase ruleCase = variantsOf("adamw").front().instantiate({});
  ruleCase.rule = "clip_by_global_norm(max_norm = 1) |> AdamW";
  const std::vector<std::string> kernels = kernelsOfAStep(ruleCase, 100);
  EXPECT_EQ(llvm::count_if(kernels, [](llvm::StringRef name) { return name.contains("_sweep"); }),
            2);
}
