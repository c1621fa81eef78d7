//===- DeviceStepTests.cpp - Steps on a device beside steps on the CPU ------------------------===//
// The same rule, compiled for the CPU and for a device, steps the same tensors by the C API: every
// bit of every parameter and state must be the same after every step. The devices are the emulator
// and, where there is one, a GPU.

#include "RuleTable.h"
#include "Sides.h"
#include "SteppedOn.h"
#include "lib/CAPI/Handles.h"
#include "runtime/base/DType.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/gpu/DeviceStep.h"

#include "updraft/Driver/CacheKey.h"
#include "updraft/Driver/Compiler.h"
#include "updraft/Engine/ObjectLoader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <deque>
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
  size_t offset = 0; ///< of its memory on the device, in elements
};

/// A vector of more than a chunk, small ones, matrices of some blocks of rows, batches, no element.
std::vector<Tensor> tensorsOfTwoGroups() {
  return {{{5}, 0},        {{2 * 8192 + 130}, 0}, {{130, 5}, 0, 3},  {{0}, 0},
          {{2, 70, 3}, 1}, {{33}, 1, 1},          {{2, 70, 300}, 1}, {{}, 1}};
}

/// An optimizer, and the memory of its tensors.
struct Side {
  RuleHandle rule;
  OptimizerHandle optimizer;
  std::vector<void *> params, grads;
};

/// Both sides of a case.
class Sides {
public:
  Sides(const RuleCase &ruleCase, const SteppedOn &on, std::vector<Tensor> tensors)
      : ruleCase(ruleCase), on(on), tensors(std::move(tensors)), random(ruleCase.seed + 1),
        present(this->tensors.size(), true) {}

  AssertionResult make();
  AssertionResult step(float foundInf = 0);
  /// Steps without comparing.
  AssertionResult stepBoth(float foundInf = 0);
  AssertionResult compare();
  /// Of every group, on both sides.
  AssertionResult setHyper(const std::string &name, double value);
  /// Both sides read it from their memory.
  AssertionResult setHyperInMemory(const std::string &name, float value);
  /// Has the device count the steps of every tensor in memory of its own.
  AssertionResult bindSteps();
  /// Has every gradient in other memory on the device, so many elements from where any access may
  /// start.
  void moveGradients(size_t offset);
  void setPresent(size_t tensor, bool isPresent) { present[tensor] = isPresent; }
  /// Saves each side and loads the file of the other.
  AssertionResult exchangeFiles();
  /// The device's states are the caller's from now on.
  AssertionResult bindStates();
  upd_optimizer *onDevice() { return device.optimizer.get(); }
  upd_tensor gradientOnDevice(size_t tensor) const {
    return view(tensor, device.grads[tensor], interface().grad, on.kind);
  }

private:
  const runtime::RuleInterface &interface() const { return cpu.rule->kernels->interface; }
  upd_tensor view(size_t tensor, void *data, upd_dtype dtype, upd_device kind) const;
  upd_tensor number(const void *data, upd_device kind) const;
  size_t elementsOf(size_t tensor) const;
  size_t bytesOf(size_t tensor, upd_dtype dtype) const {
    return elementsOf(tensor) * runtime::sizeOf(dtype);
  }
  std::vector<char> randomValues(size_t count, upd_dtype dtype);
  void *allocate(size_t bytes, size_t offsetBytes = 0);
  void *copyToDevice(const void *data, size_t bytes, size_t offsetBytes = 0);
  AssertionResult makeOptimizer(Side &side, upd_device kind);
  static AssertionResult require(const runtime::Status &status) {
    return status.ok() ? AssertionSuccess() : AssertionFailure() << status.message();
  }
  static AssertionResult require(upd_status status) {
    return status == UPD_OK ? AssertionSuccess() : AssertionFailure() << upd_last_error();
  }

  const RuleCase &ruleCase;
  const SteppedOn &on;
  std::vector<Tensor> tensors;
  std::mt19937_64 random;
  std::vector<bool> present; ///< tensors that have a gradient
  std::deque<std::vector<char>> memory;
  Side cpu, device;
};

upd_tensor Sides::view(size_t tensor, void *data, upd_dtype dtype, upd_device kind) const {
  upd_tensor result = {};
  result.data = data;
  result.shape = tensors[tensor].dimensions.data();
  result.rank = static_cast<int32_t>(tensors[tensor].dimensions.size());
  result.dtype = dtype;
  result.device = kind;
  return result;
}

upd_tensor Sides::number(const void *data, upd_device kind) const {
  upd_tensor result = {};
  result.data = const_cast<void *>(data);
  result.dtype = UPD_F32;
  result.device = kind;
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

void *Sides::allocate(size_t bytes, size_t offsetBytes) {
  void *data = nullptr;
  EXPECT_TRUE(require(on.device->allocate(bytes + offsetBytes, &data)));
  return static_cast<char *>(data) + offsetBytes;
}

void *Sides::copyToDevice(const void *data, size_t bytes, size_t offsetBytes) {
  void *to = allocate(bytes, offsetBytes);
  EXPECT_TRUE(require(on.device->write(to, data, bytes, nullptr)));
  return to;
}

void Sides::moveGradients(size_t offset) {
  const upd_dtype dtype = interface().grad;
  for (size_t i = 0; i < tensors.size(); ++i)
    device.grads[i] = allocate(bytesOf(i, dtype), offset * runtime::sizeOf(dtype));
}

AssertionResult Sides::make() {
  auto compiled = compile(ruleCase);
  if (!compiled)
    return AssertionFailure() << toString(compiled.takeError());
  cpu.rule = std::move(*compiled);
  RuleCase forDevice = ruleCase;
  forDevice.target = on.target;
  auto ofKernels = compile(forDevice);
  if (!ofKernels)
    return AssertionFailure() << toString(ofKernels.takeError());
  device.rule = std::move(*ofKernels);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t offset = tensors[i].offset * runtime::sizeOf(interface().param);
    memory.push_back(randomValues(elementsOf(i), interface().param));
    cpu.params.push_back(memory.back().data());
    device.params.push_back(copyToDevice(memory.back().data(), memory.back().size(), offset));
    memory.emplace_back(bytesOf(i, interface().grad));
    cpu.grads.push_back(memory.back().data());
    device.grads.push_back(allocate(bytesOf(i, interface().grad),
                                    tensors[i].offset * runtime::sizeOf(interface().grad)));
  }
  if (AssertionResult made = makeOptimizer(cpu, UPD_CPU); !made)
    return made;
  return makeOptimizer(device, on.kind);
}

AssertionResult Sides::makeOptimizer(Side &side, upd_device kind) {
  std::vector<std::vector<upd_tensor>> views(2);
  for (size_t i = 0; i < tensors.size(); ++i)
    views[tensors[i].group].push_back(view(i, side.params[i], interface().param, kind));
  std::vector<upd_group> groups(2);
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].params = views[i].data();
    groups[i].param_count = views[i].size();
  }
  upd_optimizer *made = nullptr;
  if (upd_optimizer_create(side.rule.get(), groups.data(), groups.size(), nullptr, &made) != UPD_OK)
    return AssertionFailure() << upd_last_error();
  side.optimizer.reset(made);
  return require(upd_optimizer_set_seed(made, 77));
}

AssertionResult Sides::setHyper(const std::string &name, double value) {
  for (Side *side : {&cpu, &device})
    for (size_t group = 0; group < 2; ++group)
      if (AssertionResult set =
              require(upd_optimizer_set_hyper(side->optimizer.get(), group, name.c_str(), value));
          !set)
        return set;
  return AssertionSuccess();
}

AssertionResult Sides::setHyperInMemory(const std::string &name, float value) {
  memory.emplace_back(sizeof(value));
  std::memcpy(memory.back().data(), &value, sizeof(value));
  const upd_tensor ofCpu = number(memory.back().data(), UPD_CPU);
  const upd_tensor ofDevice = number(copyToDevice(&value, sizeof(value)), on.kind);
  for (size_t group = 0; group < 2; ++group) {
    if (AssertionResult read =
            require(upd_optimizer_read_hyper(cpu.optimizer.get(), group, name.c_str(), &ofCpu));
        !read)
      return read;
    if (AssertionResult read =
            require(upd_optimizer_read_hyper(onDevice(), group, name.c_str(), &ofDevice));
        !read)
      return read;
  }
  return AssertionSuccess();
}

AssertionResult Sides::bindSteps() {
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t steps = 0;
    if (AssertionResult got = require(upd_optimizer_get_step(onDevice(), i, &steps)); !got)
      return got;
    const auto count = static_cast<float>(steps);
    const upd_tensor bound = number(copyToDevice(&count, sizeof(count)), on.kind);
    if (AssertionResult bind = require(upd_optimizer_bind_step(onDevice(), i, &bound)); !bind)
      return bind;
  }
  return AssertionSuccess();
}

/// Of a state that is there, with the scales of its blocks, which follow the codes.
static size_t bytesOfState(upd_optimizer *optimizer, size_t tensor, const StateInterface &state,
                           const upd_tensor &found) {
  auto bytesOf = [](const upd_tensor &view, upd_dtype dtype) {
    size_t bytes = runtime::sizeOf(dtype);
    for (int32_t i = 0; i < view.rank; ++i)
      bytes *= static_cast<size_t>(view.shape[i]);
    return bytes;
  };
  if (!runtime::isBlocked(state.dtype))
    return bytesOf(found, state.dtype);
  upd_tensor scales{};
  EXPECT_EQ(upd_optimizer_state(optimizer, tensor, (state.name + ".scale").c_str(), &scales),
            UPD_OK);
  return static_cast<size_t>(static_cast<char *>(scales.data) - static_cast<char *>(found.data)) +
         bytesOf(scales, UPD_F32);
}

AssertionResult Sides::bindStates() {
  for (size_t i = 0; i < tensors.size(); ++i)
    for (const StateInterface &state : interface().states) {
      upd_tensor found;
      if (upd_optimizer_state(onDevice(), i, state.name.c_str(), &found) != UPD_OK)
        continue;
      const size_t bytes = bytesOfState(onDevice(), i, state, found);
      std::vector<char> values(bytes);
      if (AssertionResult read =
              require(on.device->read(values.data(), found.data, bytes, nullptr));
          !read)
        return read;
      found.data = copyToDevice(values.data(), bytes);
      if (AssertionResult bind =
              require(upd_optimizer_bind_state(onDevice(), i, state.name.c_str(), &found));
          !bind)
        return bind;
    }
  return AssertionSuccess();
}

AssertionResult Sides::exchangeFiles() {
  llvm::SmallString<64> folder;
  if (llvm::sys::fs::createUniqueDirectory("updraft-devices", folder))
    return AssertionFailure() << "no folder";
  const std::string ofCpu = (folder + "/cpu").str(), ofDevice = (folder + "/device").str();
  AssertionResult result = AssertionSuccess();
  for (const upd_status status : {upd_optimizer_save(cpu.optimizer.get(), ofCpu.c_str()),
                                  upd_optimizer_save(onDevice(), ofDevice.c_str()),
                                  upd_optimizer_load(cpu.optimizer.get(), ofDevice.c_str()),
                                  upd_optimizer_load(onDevice(), ofCpu.c_str())})
    if (status != UPD_OK)
      result = AssertionFailure() << upd_last_error();
  auto contents = [](const std::string &path) {
    return llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)))
        ->getBuffer()
        .str();
  };
  if (result && contents(ofCpu) != contents(ofDevice))
    result = AssertionFailure() << describe(ruleCase) << ": the files differ";
  llvm::sys::fs::remove_directories(folder);
  return result;
}

AssertionResult Sides::stepBoth(float foundInf) {
  upd_tensor absent = {};
  absent.rank = -1;
  std::vector<upd_tensor> ofCpu(tensors.size(), absent), ofDevice = ofCpu;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<char> values = randomValues(elementsOf(i), interface().grad);
    std::copy(values.begin(), values.end(), static_cast<char *>(cpu.grads[i]));
    if (AssertionResult written =
            require(on.device->write(device.grads[i], values.data(), values.size(), nullptr));
        !written)
      return written;
    if (!present[i])
      continue;
    ofCpu[i] = view(i, cpu.grads[i], interface().grad, UPD_CPU);
    ofDevice[i] = gradientOnDevice(i);
  }
  const upd_tensor foundOnCpu = number(&foundInf, UPD_CPU);
  const upd_tensor foundOnDevice = number(copyToDevice(&foundInf, sizeof(foundInf)), on.kind);
  for (const upd_status status :
       {upd_optimizer_set_found_inf(cpu.optimizer.get(), &foundOnCpu),
        upd_optimizer_set_found_inf(onDevice(), &foundOnDevice),
        upd_optimizer_step(cpu.optimizer.get(), ofCpu.data(), ofCpu.size()),
        upd_optimizer_step(onDevice(), ofDevice.data(), ofDevice.size()),
        upd_optimizer_set_found_inf(cpu.optimizer.get(), nullptr)})
    if (status != UPD_OK)
      return AssertionFailure() << upd_last_error();
  return AssertionSuccess();
}

AssertionResult Sides::step(float foundInf) {
  AssertionResult stepped = stepBoth(foundInf);
  return stepped ? compare() : stepped;
}

AssertionResult Sides::compare() {
  auto differ = [&](const void *onHost, const void *data, size_t bytes) {
    std::vector<char> read(bytes);
    EXPECT_TRUE(require(on.device->read(read.data(), data, bytes, nullptr)));
    return bytes != 0 && std::memcmp(read.data(), onHost, bytes) != 0;
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t steps, stepsOnDevice;
    upd_optimizer_get_step(cpu.optimizer.get(), i, &steps);
    if (AssertionResult got = require(upd_optimizer_get_step(onDevice(), i, &stepsOnDevice)); !got)
      return got;
    if (steps != stepsOnDevice)
      return AssertionFailure() << describe(ruleCase) << ": tensor " << i << " took " << steps
                                << " steps, on the device " << stepsOnDevice;
    if (differ(cpu.params[i], device.params[i], bytesOf(i, interface().param)))
      return AssertionFailure() << describe(ruleCase) << ": tensor " << i << " differs";
    for (const StateInterface &state : interface().states) {
      upd_tensor here, there;
      const upd_status has = upd_optimizer_state(cpu.optimizer.get(), i, state.name.c_str(), &here);
      const upd_status hasOnDevice = upd_optimizer_state(onDevice(), i, state.name.c_str(), &there);
      if (has != hasOnDevice)
        return AssertionFailure() << describe(ruleCase) << ": state `" << state.name
                                  << "` of tensor " << i << " is there only on "
                                  << (has == UPD_OK ? "the CPU" : "the device");
      if (has != UPD_OK)
        continue;
      const size_t bytes = bytesOfState(cpu.optimizer.get(), i, state, here);
      if (differ(here.data, there.data, bytes))
        return AssertionFailure() << describe(ruleCase) << ": state `" << state.name
                                  << "` of tensor " << i << " differs";
    }
  }
  return AssertionSuccess();
}

TEST(Devices, HaveAGPUAmongThem) {
  const SteppedOn gpu = SteppedOn::open("cuda");
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
    ASSERT_TRUE(sides.make());
    for (int step = 1; step <= 3; ++step) {
      for (const HyperChange &change : ruleCase.changes)
        if (change.step == step)
          ASSERT_TRUE(sides.setHyper(change.name, change.value));
      ASSERT_TRUE(sides.step());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSteps,
                         testing::Combine(testing::ValuesIn(SteppedOn::names()),
                                          testing::ValuesIn(ruleFiles())),
                         [](const auto &info) {
                           return std::get<0>(info.param) + ("_" + std::get<1>(info.param));
                         });

class DeviceStep : public OnDevice<> {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStep, testing::Combine(testing::ValuesIn(SteppedOn::names())),
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

TEST_P(DeviceStep, ReadsHyperparametersFromMemory) {
  const RuleCase ruleCase = caseOf("adamw");
  Sides sides(ruleCase, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.setHyperInMemory("lr", 0.25f));
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.setHyperInMemory("lr", 0.0625f));
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.setHyper("lr", 0.5)); // is not read any more
  ASSERT_TRUE(sides.step());
}

TEST_P(DeviceStep, HasTheBitsOfTheCPUInTheOtherModes) {
  for (const char *numerics : {"torch", "fast"}) {
    if (on.kind == UPD_CUDA && numerics == std::string_view("fast"))
      continue; // approximates; the GPU suite has the bounds
    for (const char *file : {"adamw", "adafactor", "lamb", "sgd"}) {
      RuleCase ruleCase = caseOf(file);
      ruleCase.numerics = numerics;
      Sides sides(ruleCase, on, tensorsOfTwoGroups());
      ASSERT_TRUE(sides.make());
      for (int step = 0; step < 3; ++step)
        ASSERT_TRUE(sides.step());
    }
  }
}

TEST_P(DeviceStep, HasTheBitsOfTheCPUInBlocks) {
  for (const upd_dtype state : {UPD_Q8_LINEAR, UPD_Q8_COMPANDED})
    for (const char *file : {"adamw", "adafactor", "lamb", "prodigy"}) {
      RuleCase ruleCase = variantsOf(file).front().instantiate(
          {{"param", UPD_BF16_STOCHASTIC}, {"grad", UPD_BF16}, {"state", state}});
      Sides sides(ruleCase, on, tensorsOfTwoGroups());
      ASSERT_TRUE(sides.make());
      ASSERT_TRUE(sides.step(1));
      for (const size_t offset : {0, 1, 0}) {
        sides.moveGradients(offset);
        ASSERT_TRUE(sides.step());
      }
      ASSERT_TRUE(sides.bindStates());
      ASSERT_TRUE(sides.exchangeFiles());
      ASSERT_TRUE(sides.step());
    }
}

TEST_P(DeviceStep, FillsBlocksWithInitialValues) {
  for (const upd_dtype state : {UPD_Q8_LINEAR, UPD_Q8_COMPANDED}) {
    RuleCase ruleCase;
    ruleCase.filename = "started.upd";
    ruleCase.source = "rule Started(lr = 0.1, start = -0.3) {\n"
                      "  state mean = start\n"
                      "  update(param, grad) {\n"
                      "    next mean = if grad > 9 then grad else mean\n"
                      "    next param = param - lr * mean\n"
                      "  }\n}\n";
    ruleCase.storage = {{"state", state}};
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.step(1));
    ASSERT_TRUE(sides.setHyper("start", 0.7)); // nothing has started yet
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE(sides.step());
  }
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

TEST_P(DeviceStep, FollowsGradientsThatComeAndGo) {
  for (const char *file : {"adafactor", "prodigy", "adamw"}) {
    const RuleCase ruleCase = caseOf(file);
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    sides.setPresent(2, false);
    ASSERT_TRUE(sides.step());
    sides.setPresent(2, true);
    sides.setPresent(0, false);
    ASSERT_TRUE(sides.step());
    sides.moveGradients(1);
    sides.setPresent(0, true);
    ASSERT_TRUE(sides.stepBoth()); // nothing is asked between these
    for (size_t i = 0; i < 8; ++i)
      sides.setPresent(i, false);
    ASSERT_TRUE(sides.stepBoth());
    sides.setPresent(6, true);
    ASSERT_TRUE(sides.step());
  }
}

TEST_P(DeviceStep, TakesStatesOfTheCaller) {
  for (const char *file : {"adamw", "adafactor", "prodigy"}) {
    const RuleCase ruleCase = caseOf(file);
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.stepBoth());
    ASSERT_TRUE(sides.bindStates());
    ASSERT_TRUE(sides.step());
  }
}

TEST_P(DeviceStep, CountsWhereTheCallerHasTheCount) {
  const RuleCase ruleCase = caseOf("adamw");
  Sides sides(ruleCase, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.bindSteps());
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.exchangeFiles());
  ASSERT_TRUE(sides.step(1));
  ASSERT_TRUE(sides.step());
}

TEST_P(DeviceStep, SavesAndLoadsWhatTheCPUDoes) {
  for (const char *file : {"adamw", "adafactor", "prodigy", "sgd"}) {
    const RuleCase ruleCase = caseOf(file);
    Sides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.exchangeFiles()); // before there is a state
    sides.setPresent(4, false);
    ASSERT_TRUE(sides.step());
    ASSERT_TRUE(sides.exchangeFiles());
    sides.setPresent(4, true);
    ASSERT_TRUE(sides.step());
  }
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
    float element = 1;
    upd_tensor param{};
    param.data = &element;
    param.device = UPD_CPU;
    upd_group group{};
    group.params = &param;
    group.param_count = 1;
    EXPECT_EQ(upd_optimizer_create(&rule, &group, 1, nullptr, &optimizer), UPD_UNSUPPORTED);
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
