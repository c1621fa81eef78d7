//===- DeviceStepTests.cpp - Steps on a device beside steps on the CPU ------------------------===//
// The same rule, compiled for the CPU and for a device, steps the same tensors: every bit of every
// parameter and state must be the same after every step. The devices are the emulator and, where
// there is one, a GPU.

#include "RuleTable.h"
#include "Sides.h"
#include "lib/CAPI/Handles.h"
#include "runtime/base/DType.h"
#include "runtime/cpu/GroupHypers.h"
#include "runtime/cpu/InitialValues.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/gpu/DeviceStep.h"
#include "runtime/gpu/EnginePTX.h"

#include "updraft/Driver/CacheKey.h"
#include "updraft/Driver/Compiler.h"
#include "updraft/Engine/ObjectLoader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <random>

using namespace updraft;
using namespace updraft::differential;
using runtime::StateInterface;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

namespace {

struct Tensor {
  std::vector<int64_t> dimensions;
  size_t group;
  size_t offset = 0; ///< of its memory, in elements
};

/// A vector of more than a chunk, small ones, matrices of some blocks of rows, batches, no element.
std::vector<Tensor> tensorsOfTwoGroups() {
  return {{{5}, 0},        {{2 * 8192 + 130}, 0}, {{130, 5}, 0, 3},  {{0}, 0},
          {{2, 70, 3}, 1}, {{33}, 1, 1},          {{2, 70, 300}, 1}, {{}, 1}};
}

/// What rules are stepped on, and the target that they are compiled for.
struct SteppedOn {
  std::shared_ptr<gpu::Device> device;
  std::string target;
  std::string whyNot; ///< there is no device
};

SteppedOn openDevice(const std::string &name) {
  if (name == "emulator")
    return {std::make_shared<emulator::EmulatedDevice>(), "emulator", ""};
  std::shared_ptr<cuda::CudaDevice> device;
  const runtime::Status status =
      cuda::CudaDevice::open(0, {"", 0, std::string(gpu::enginePTX())}, device);
  if (!status.ok())
    return {nullptr, "", status.message()};
  // Of the architectures that there are kernels for, the newest that it runs.
  const int number = device->computeMajor() * 10 + device->computeMinor();
  const char *target = number >= 100  ? "nvptx:sm_100"
                       : number >= 90 ? "nvptx:sm_90"
                                      : "nvptx:sm_80";
  return {device, target, ""};
}

/// Both sides of a case.
class Sides {
public:
  Sides(const RuleCase &ruleCase, const SteppedOn &on, std::vector<Tensor> tensors)
      : ruleCase(ruleCase), target(on.target), tensors(std::move(tensors)),
        random(ruleCase.seed + 1), device(on.device) {}

  AssertionResult make();
  /// Makes the tables anew, once without any tensor.
  AssertionResult rebuild();
  AssertionResult finish() { return require(deviceStep->finish(hypers, 77, nullptr)); }
  /// The CPU steps where nothing was found.
  AssertionResult step(float foundInf = 0);
  AssertionResult compare();
  /// Of every group, on both sides.
  AssertionResult setHyper(const std::string &name, double value);
  /// The device reads it from its memory, while the CPU is told.
  AssertionResult setHyperOnDevice(const std::string &name, float value);
  void *onDevice(const void *data, size_t bytes, size_t offsetBytes = 0);
  /// Has every gradient in other memory on the device, so many elements from where any access may
  /// start.
  void moveGradients(size_t offset);

  bool isRefused = false; ///< no kernels are made of such a rule

private:
  const runtime::RuleInterface &interface() const { return kernels->interface; }
  upd_tensor view(size_t tensor, void *data, upd_dtype dtype) const;
  size_t elementsOf(size_t tensor) const;
  std::vector<char> randomValues(size_t count, upd_dtype dtype);
  AssertionResult makeOptimizer();
  AssertionResult makeDeviceStep();
  size_t slot(size_t tensor, size_t state) const {
    const size_t holder =
        interface().states[state].over == runtime::Extent::Group
            ? static_cast<size_t>(llvm::find_if(tensors,
                                                [&](const Tensor &it) {
                                                  return it.group == tensors[tensor].group;
                                                }) -
                                  tensors.begin())
            : tensor;
    return holder * interface().states.size() + state;
  }
  static AssertionResult require(const runtime::Status &status) {
    return status.ok() ? AssertionSuccess() : AssertionFailure() << status.message();
  }

  const RuleCase &ruleCase;
  std::string target;
  std::vector<Tensor> tensors;
  std::mt19937_64 random;
  RuleHandle rule;
  std::shared_ptr<const runtime::Kernels> kernels;
  OptimizerHandle optimizer;
  std::vector<std::vector<char>> params, grads;

  std::shared_ptr<gpu::Device> device;
  std::unique_ptr<gpu::DeviceStep> deviceStep;
  std::vector<double> hypers;
  std::vector<void *> deviceParams, deviceGrads, deviceSteps;
  std::vector<std::pair<size_t, uint32_t>> places;     ///< plan and position of each tensor
  std::vector<std::pair<void *, size_t>> deviceStates; ///< by slot
};

upd_tensor Sides::view(size_t tensor, void *data, upd_dtype dtype) const {
  upd_tensor result = {};
  result.data = data;
  result.shape = tensors[tensor].dimensions.data();
  result.rank = static_cast<int32_t>(tensors[tensor].dimensions.size());
  result.dtype = dtype;
  result.device = UPD_CPU;
  return result;
}

size_t Sides::elementsOf(size_t tensor) const {
  size_t count = 1;
  for (int64_t size : tensors[tensor].dimensions)
    count *= static_cast<size_t>(size);
  return count;
}

std::vector<char> Sides::randomValues(size_t count, upd_dtype dtype) {
  std::vector<char> values(count * runtime::sizeOf(dtype));
  std::normal_distribution<double> distribution;
  for (size_t i = 0; i < count; ++i)
    runtime::storeRounded(dtype, distribution(random), values.data() + i * runtime::sizeOf(dtype));
  return values;
}

void *Sides::onDevice(const void *data, size_t bytes, size_t offsetBytes) {
  void *memory = nullptr;
  EXPECT_TRUE(require(device->allocate(bytes + offsetBytes, &memory)));
  memory = static_cast<char *>(memory) + offsetBytes;
  EXPECT_TRUE(require(device->write(memory, data, bytes, nullptr)));
  return memory;
}

void Sides::moveGradients(size_t offset) {
  const size_t bytes = runtime::sizeOf(interface().grad);
  for (size_t i = 0; i < tensors.size(); ++i) {
    deviceGrads[i] = onDevice(grads[i].data(), grads[i].size(), offset * bytes);
    const auto [plan, position] = places[i];
    deviceStep->plans()[plan].setStream(position, runtime::StreamIndex::Grad, deviceGrads[i]);
  }
}

AssertionResult Sides::make() {
  auto compiled = compile(ruleCase);
  if (!compiled)
    return AssertionFailure() << toString(compiled.takeError());
  rule = std::move(*compiled);
  RuleCase onDevice = ruleCase;
  onDevice.target = target;
  auto ofKernels = compile(onDevice);
  if (!ofKernels) {
    const std::string message = toString(ofKernels.takeError());
    isRefused = llvm::StringRef(message).contains("a GPU stores");
    return AssertionFailure() << message;
  }
  kernels = (*ofKernels)->kernels;
  for (size_t i = 0; i < tensors.size(); ++i) {
    params.push_back(randomValues(elementsOf(i), interface().param));
    grads.push_back(randomValues(elementsOf(i), interface().grad));
  }
  AssertionResult made = makeOptimizer();
  return made ? makeDeviceStep() : made;
}

AssertionResult Sides::makeOptimizer() {
  std::vector<std::vector<upd_tensor>> views(2);
  for (size_t i = 0; i < tensors.size(); ++i)
    views[tensors[i].group].push_back(view(i, params[i].data(), interface().param));
  std::vector<upd_group> groups(2);
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].params = views[i].data();
    groups[i].param_count = views[i].size();
  }
  upd_optimizer *made = nullptr;
  if (upd_optimizer_create(rule.get(), groups.data(), groups.size(), nullptr, &made) != UPD_OK)
    return AssertionFailure() << upd_last_error();
  optimizer.reset(made);
  upd_optimizer_set_seed(made, 77);
  return AssertionSuccess();
}

AssertionResult Sides::makeDeviceStep() {
  if (AssertionResult made = require(gpu::DeviceStep::create(device, kernels, deviceStep)); !made)
    return made;
  runtime::GroupHypers groupHypers(kernels);
  for (int group = 0; group < 2; ++group) {
    if (AssertionResult added = require(groupHypers.addGroup(nullptr, 0)); !added)
      return added;
    const double *own = groupHypers.of(static_cast<size_t>(group));
    hypers.insert(hypers.end(), own, own + interface().hypers.size());
  }
  runtime::InitialValues initial;
  initial.evaluate(*kernels, groupHypers);

  deviceStep->clear(2);
  deviceStates.resize(tensors.size() * interface().states.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &tensor = tensors[i];
    const bool isMatrix = tensor.dimensions.size() >= 2;
    size_t plan = 0;
    while (plan < interface().plans.size() &&
           interface().plans[plan].tensors != runtime::TensorClass::Any &&
           (interface().plans[plan].tensors == runtime::TensorClass::Matrix) != isMatrix)
      ++plan;
    runtime::TensorShape shape{1, 1, static_cast<int64_t>(elementsOf(i))};
    if (isMatrix) {
      const size_t rank = tensor.dimensions.size();
      shape = {1, tensor.dimensions[rank - 2], tensor.dimensions[rank - 1]};
      for (size_t j = 0; j + 2 < rank; ++j)
        shape.batches *= tensor.dimensions[j];
    }
    const double none = 0;
    deviceSteps.push_back(onDevice(&none, sizeof(none)));
    const auto offset = [&](upd_dtype dtype) { return tensor.offset * runtime::sizeOf(dtype); };
    deviceParams.push_back(onDevice(params[i].data(), params[i].size(), offset(interface().param)));
    deviceGrads.push_back(onDevice(grads[i].data(), grads[i].size(), offset(interface().grad)));

    gpu::DevicePlan &devicePlan = deviceStep->plans()[plan];
    const uint32_t position =
        devicePlan.add({static_cast<uint32_t>(i), static_cast<uint32_t>(tensor.group), shape, true,
                        i, deviceSteps.back(), UPD_F64});
    places.emplace_back(plan, position);
    for (size_t j = 0; j < interface().states.size(); ++j) {
      const StateInterface &state = interface().states[j];
      auto &[memory, bytes] = deviceStates[slot(i, j)];
      if (memory || !state.isOf(interface().plans[plan].tensors))
        continue;
      const int64_t count = shape.count(state.over);
      bytes = static_cast<size_t>(count) * runtime::sizeOf(state.dtype);
      std::vector<char> values(bytes);
      initial.fill(static_cast<uint32_t>(tensor.group), j, values.data(), 0, count);
      memory = onDevice(values.data(), bytes);
    }
    devicePlan.setStream(position, runtime::StreamIndex::Param, deviceParams[i]);
    devicePlan.setStream(position, runtime::StreamIndex::Grad, deviceGrads[i]);
    const auto &streams = devicePlan.streamInterfaces();
    for (size_t j = runtime::StreamIndex::FirstState; j < streams.size(); ++j)
      if (streams[j].state != runtime::StreamInterface::none)
        devicePlan.setStream(position, j, deviceStates[slot(i, streams[j].state)].first);
    for (size_t j = 0; j < devicePlan.scalarStates().size(); ++j)
      devicePlan.setScalar(position, j, deviceStates[slot(i, devicePlan.scalarStates()[j])].first);
  }
  return finish();
}

AssertionResult Sides::rebuild() {
  const std::deque<gpu::DevicePlan> before = deviceStep->plans();
  deviceStep->clear(2);
  if (AssertionResult made = finish(); !made)
    return made;
  if (AssertionResult run = require(deviceStep->run(nullptr, nullptr)); !run)
    return run;
  deviceStep->clear(2);
  for (size_t i = 0; i < before.size(); ++i) {
    gpu::DevicePlan &plan = deviceStep->plans()[i];
    for (size_t position = 0; position < before[i].tensors().size(); ++position) {
      gpu::SteppedTensor tensor = before[i].tensors()[position];
      tensor.isFirst = false;
      plan.add(tensor);
      for (size_t j = 0; j < plan.streamInterfaces().size(); ++j)
        plan.setStream(position, j, before[i].stream(position, j));
      for (size_t j = 0; j < plan.scalarStates().size(); ++j)
        plan.setScalar(position, j, before[i].scalar(position, j));
    }
  }
  return finish();
}

AssertionResult Sides::setHyper(const std::string &name, double value) {
  const size_t count = interface().hypers.size();
  for (size_t group = 0; group < 2; ++group) {
    if (upd_optimizer_set_hyper(optimizer.get(), group, name.c_str(), value) != UPD_OK)
      return AssertionFailure() << upd_last_error();
    for (size_t i = 0; i < count; ++i)
      if (interface().hypers[i].name == name)
        hypers[group * count + i] = value;
    if (AssertionResult set =
            require(deviceStep->setHypers(group, hypers.data() + group * count, nullptr));
        !set)
      return set;
  }
  return AssertionSuccess();
}

AssertionResult Sides::setHyperOnDevice(const std::string &name, float value) {
  void *memory = onDevice(&value, sizeof(value));
  for (size_t group = 0; group < 2; ++group) {
    if (upd_optimizer_set_hyper(optimizer.get(), group, name.c_str(), value) != UPD_OK)
      return AssertionFailure() << upd_last_error();
    for (size_t i = 0; i < interface().hypers.size(); ++i)
      if (interface().hypers[i].name == name)
        deviceStep->setHyperSource(group, i, memory, UPD_F32);
  }
  return AssertionSuccess();
}

AssertionResult Sides::step(float foundInf) {
  std::vector<upd_tensor> views;
  for (size_t i = 0; i < tensors.size(); ++i) {
    grads[i] = randomValues(elementsOf(i), interface().grad);
    views.push_back(view(i, grads[i].data(), interface().grad));
    if (AssertionResult written =
            require(device->write(deviceGrads[i], grads[i].data(), grads[i].size(), nullptr));
        !written)
      return written;
  }
  if (foundInf == 0 && upd_optimizer_step(optimizer.get(), views.data(), views.size()) != UPD_OK)
    return AssertionFailure() << upd_last_error();
  const auto *found = static_cast<const float *>(onDevice(&foundInf, sizeof(foundInf)));
  if (AssertionResult run = require(deviceStep->run(found, nullptr)); !run)
    return run;
  return compare();
}

AssertionResult Sides::compare() {
  auto differ = [&](const void *onHost, const void *memory, size_t bytes) {
    std::vector<char> read(bytes);
    EXPECT_TRUE(require(device->read(read.data(), memory, bytes, nullptr)));
    return bytes != 0 && std::memcmp(read.data(), onHost, bytes) != 0;
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t steps;
    double onDevice;
    upd_optimizer_get_step(optimizer.get(), i, &steps);
    EXPECT_TRUE(require(device->read(&onDevice, deviceSteps[i], sizeof(onDevice), nullptr)));
    if (static_cast<double>(steps) != onDevice)
      return AssertionFailure() << describe(ruleCase) << ": tensor " << i << " took " << steps
                                << " steps, on the device " << onDevice;
    if (differ(params[i].data(), deviceParams[i], params[i].size()))
      return AssertionFailure() << describe(ruleCase) << ": tensor " << i << " differs";
    for (size_t j = 0; j < interface().states.size(); ++j) {
      const auto [memory, bytes] = deviceStates[slot(i, j)];
      upd_tensor state;
      const upd_status status =
          upd_optimizer_state(optimizer.get(), i, interface().states[j].name.c_str(), &state);
      // No step has been taken, or tensors of this class have none.
      if (status != UPD_OK)
        continue;
      if (differ(state.data, memory, bytes))
        return AssertionFailure() << describe(ruleCase) << ": state `" << interface().states[j].name
                                  << "` of tensor " << i << " differs";
    }
  }
  return AssertionSuccess();
}

/// On a device.
template <typename... More>
class OnDevice : public testing::TestWithParam<std::tuple<const char *, More...>> {
protected:
  const SteppedOn on = openDevice(std::get<0>(this->GetParam()));
};

/// Those that are there.
std::vector<const char *> devices() {
  std::vector<const char *> names = {"emulator"};
  if (openDevice("cuda").device)
    names.push_back("cuda");
  return names;
}

TEST(Devices, HaveAGPUAmongThem) {
  const SteppedOn gpu = openDevice("cuda");
  if (!gpu.device)
    GTEST_SKIP() << gpu.whyNot;
}

class DeviceSteps : public OnDevice<std::string> {};

TEST_P(DeviceSteps, HaveTheBitsOfTheCPU) {
  const RuleVariant variant = variantsOf(std::get<1>(GetParam())).back();
  const std::vector<StorageChoice> choices = storageChoices(variant);
  for (size_t number = 0; number < 3; ++number) {
    const RuleCase ruleCase = variant.instantiate(choices[number * choices.size() / 3]);
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    const AssertionResult made = sides.make();
    if (sides.isRefused)
      continue;
    ASSERT_TRUE(made);
    for (int step = 1; step <= 3; ++step) {
      for (const HyperChange &change : ruleCase.changes)
        if (change.step == step)
          ASSERT_TRUE(sides.setHyper(change.name, change.value));
      ASSERT_TRUE(sides.step());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSteps,
                         testing::Combine(testing::ValuesIn(devices()),
                                          testing::ValuesIn(ruleFiles())),
                         [](const auto &info) {
                           return std::get<0>(info.param) + ("_" + std::get<1>(info.param));
                         });

class DeviceStep : public OnDevice<> {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStep, testing::Combine(testing::ValuesIn(devices())),
                         [](const auto &info) { return std::get<0>(info.param); });

RuleCase caseOf(const std::string &file) { return variantsOf(file).front().instantiate({}); }

TEST_P(DeviceStep, IsSkippedWhereTheDeviceHasFoundInfinities) {
  for (const char *file : {"adamw", "adafactor", "prodigy"}) {
    const RuleCase ruleCase = caseOf(file);
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    for (const float found : {1, 0, 1, 0})
      ASSERT_TRUE(sides.step(found));
  }
}

TEST_P(DeviceStep, ReadsHyperparametersFromTheDevice) {
  const RuleCase ruleCase = caseOf("adamw");
  Sides sides(ruleCase, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.setHyperOnDevice("lr", 0.25f));
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.setHyperOnDevice("lr", 0.0625f));
  ASSERT_TRUE(sides.step());
}

TEST_P(DeviceStep, FollowsGradientsThatMove) {
  for (const char *file : {"adamw", "adafactor"}) {
    const RuleCase ruleCase = caseOf(file);
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    for (const size_t offset : {0, 1, 0, 3}) {
      sides.moveGradients(offset);
      ASSERT_TRUE(sides.step());
    }
  }
}

TEST_P(DeviceStep, IsMadeAnewAndGradientsMove) {
  for (const char *file : {"adafactor", "prodigy", "adamw"}) {
    const RuleCase ruleCase = caseOf(file);
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.step());
    sides.moveGradients(1);
    ASSERT_TRUE(sides.step());
    ASSERT_TRUE(sides.rebuild());
    ASSERT_TRUE(sides.step());
    sides.moveGradients(0);
    ASSERT_TRUE(sides.step());
  }
}

TEST_P(DeviceStep, ReadsHyperparametersThatWereGivenBeforeItIsFinished) {
  const RuleCase ruleCase = caseOf("adamw");
  Sides sides(ruleCase, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.setHyperOnDevice("lr", 0.25f));
  ASSERT_TRUE(sides.finish());
  ASSERT_TRUE(sides.step());
}

TEST_P(DeviceStep, HasGroupsWithoutTensors) {
  for (const char *file : {"adafactor", "prodigy"}) {
    const RuleCase ruleCase = caseOf(file);
    for (const std::vector<Tensor> &tensors :
         {std::vector<Tensor>{{{5}, 1}}, std::vector<Tensor>{{{4, 3}, 0}, {{0, 3}, 0}}}) {
      Sides sides(ruleCase, on, tensors);
      ASSERT_TRUE(sides.make());
      for (int step = 0; step < 2; ++step)
        ASSERT_TRUE(sides.step());
    }
  }
}

TEST_P(DeviceStep, CombinesLargeTensorsInParts) {
  const RuleCase ruleCase = caseOf("lamb");
  Sides sides(ruleCase, on, {{{513 * 8192 + 5}, 0}, {{17}, 1}});
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.step());
}

// From the compiler, then from a cache on disk.
TEST(DeviceStepRule, ForAGPUHasItsKernelsAsText) {
  llvm::SmallString<64> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("updraft-kernels", folder));
  CompileRequest request;
  request.filename = UPDRAFT_RULES_DIR "/adamw.upd";
  request.source = llvm::cantFail(readRuleFile(request.filename));
  ASSERT_FALSE(request.setTarget("nvptx:sm_90"));
  const DiskCache cache(folder.str().str(), 1 << 20);
  Compiler compiler;
  auto program = llvm::cantFail(compiler.parse(request));
  cache.store(cacheKey(*program, request), llvm::cantFail(compiler.compile(*program, request)));
  for (const DiskCache &from : {DiskCache(), cache}) {
    std::unique_ptr<ObjectLoader> loader = llvm::cantFail(ObjectLoader::create());
    const std::optional<CompiledRule> stored = from.lookup(cacheKey(*program, request));
    auto kernels = llvm::cantFail(
        loader->load(stored ? *stored : llvm::cantFail(compiler.compile(*program, request))));
    EXPECT_EQ(kernels->interface.gpu, "nvptx:sm_90");
    for (const char *part : {".target sm_90", ".entry AdamW_prologue0(", ".entry AdamW_pass0("})
      EXPECT_TRUE(llvm::StringRef(kernels->gpu.ptx).contains(part)) << part;
    double initial[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::vector<double> hypers;
    for (const runtime::HyperInterface &hyper : kernels->interface.hypers)
      hypers.push_back(hyper.defaultValue);
    EXPECT_EQ(kernels->validate(hypers.data()), -1);
    kernels->initial(hypers.data(), initial);
    EXPECT_EQ(initial[0], 0);

    upd_rule rule{kernels, UPD_COMPILED};
    upd_optimizer *optimizer = nullptr;
    EXPECT_EQ(upd_optimizer_create(&rule, nullptr, 0, nullptr, &optimizer), UPD_UNSUPPORTED);
    EXPECT_STREQ(upd_last_error(), "rule `AdamW` was compiled for `nvptx:sm_90`, and has no code "
                                   "for this CPU; compile it again, for the CPU");
  }
  llvm::sys::fs::remove_directories(folder);
}

TEST(DeviceStepRule, ForCPUsIsRefused) {
  const RuleCase ruleCase = caseOf("adamw");
  auto rule = compile(ruleCase);
  ASSERT_TRUE(static_cast<bool>(rule));
  std::unique_ptr<gpu::DeviceStep> step;
  const runtime::Status status =
      gpu::DeviceStep::create(std::make_shared<emulator::EmulatedDevice>(), (*rule)->kernels, step);
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(), "the rule was not compiled for the emulator");
}

} // namespace
