//===- SteppedSides.cpp - A rule stepped on the CPU and on a device ---------------------------===//

#include "SteppedSides.h"

#include "updraft-c/probes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstring>
#include <tuple>

using namespace updraft;
using namespace updraft::differential;
using runtime::StateInterface;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

upd_tensor SteppedSides::view(size_t tensor, void *data, upd_dtype dtype, upd_device kind) const {
  upd_tensor result = {};
  result.data = data;
  result.shape = tensors[tensor].dimensions.data();
  result.rank = static_cast<int32_t>(tensors[tensor].dimensions.size());
  result.dtype = dtype;
  result.device = kind;
  return result;
}

upd_tensor SteppedSides::number(const void *data, upd_device kind) const {
  upd_tensor result = {};
  result.data = const_cast<void *>(data);
  result.dtype = UPD_F32;
  result.device = kind;
  return result;
}

size_t SteppedSides::elementsOf(size_t tensor) const {
  size_t count = 1;
  for (int64_t size : tensors[tensor].dimensions)
    count *= static_cast<size_t>(size);
  return count;
}

std::vector<char> SteppedSides::randomValues(size_t count, upd_dtype dtype) {
  std::vector<char> values(count * runtime::sizeOf(dtype));
  std::normal_distribution<double> distribution;
  for (size_t i = 0; i < count; ++i)
    runtime::storeRounded(dtype, distribution(random), values.data() + i * runtime::sizeOf(dtype));
  return values;
}

void *SteppedSides::allocate(size_t bytes, size_t offsetBytes) {
  void *data = nullptr;
  EXPECT_TRUE(require(on.device->allocate(bytes + offsetBytes, &data)));
  return static_cast<char *>(data) + offsetBytes;
}

void *SteppedSides::copyToDevice(const void *data, size_t bytes, size_t offsetBytes) {
  void *to = allocate(bytes, offsetBytes);
  EXPECT_TRUE(require(on.device->write(to, data, bytes, nullptr)));
  return to;
}

void SteppedSides::moveGradients(size_t offset) {
  const upd_dtype dtype = interface().grad;
  for (size_t i = 0; i < tensors.size(); ++i)
    device.grads[i] = allocate(bytesOf(i, dtype), offset * runtime::sizeOf(dtype));
}

AssertionResult SteppedSides::make() {
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

AssertionResult SteppedSides::makeOptimizer(SteppedSide &side, upd_device kind) {
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

AssertionResult SteppedSides::setHyper(const std::string &name, double value) {
  for (SteppedSide *side : {&cpu, &device})
    for (size_t group = 0; group < 2; ++group)
      if (AssertionResult set =
              require(upd_optimizer_set_hyper(side->optimizer.get(), group, name.c_str(), value));
          !set)
        return set;
  return AssertionSuccess();
}

AssertionResult SteppedSides::probeEvery(uint64_t steps) {
  for (SteppedSide *side : {&cpu, &device})
    if (AssertionResult set = require(upd_optimizer_set_probe_every(side->optimizer.get(), steps));
        !set)
      return set;
  return AssertionSuccess();
}

AssertionResult SteppedSides::readProbes(SteppedSide &side, std::vector<ProbedStep> &rows) const {
  const size_t width = upd_rule_probe_count(side.rule.get());
  std::vector<upd_probe_row> read(64);
  std::vector<double> values(read.size() * width);
  size_t count = 0;
  if (AssertionResult got =
          require(upd_optimizer_read_probes(side.optimizer.get(), &side.probeCursor, read.data(),
                                            values.data(), read.size(), &count, nullptr));
      !got)
    return got;
  for (size_t i = 0; i < count; ++i)
    rows.push_back({read[i].step, read[i].param, {&values[i * width], &values[i * width] + width}});
  llvm::sort(rows, [](const ProbedStep &a, const ProbedStep &b) {
    return std::tie(a.step, a.tensor) < std::tie(b.step, b.tensor);
  });
  return AssertionSuccess();
}

AssertionResult SteppedSides::compareProbes() {
  std::vector<ProbedStep> ofCpu, ofDevice;
  for (auto [side, rows] : {std::pair(&cpu, &ofCpu), std::pair(&device, &ofDevice)})
    if (AssertionResult read = readProbes(*side, *rows); !read)
      return read;
  comparedRows = ofCpu.size();
  if (ofCpu.size() != ofDevice.size())
    return AssertionFailure() << describe(ruleCase) << ": " << ofCpu.size()
                              << " rows of probes, on the device " << ofDevice.size();
  for (auto [here, there] : llvm::zip_equal(ofCpu, ofDevice)) {
    if (here.step != there.step || here.tensor != there.tensor)
      return AssertionFailure() << describe(ruleCase) << ": a row of step " << here.step
                                << " and tensor " << here.tensor << ", on the device of step "
                                << there.step << " and tensor " << there.tensor;
    for (size_t i = 0; i < here.values.size(); ++i)
      if (std::memcmp(&here.values[i], &there.values[i], sizeof(double)) != 0 &&
          !(std::isnan(here.values[i]) && std::isnan(there.values[i])))
        return AssertionFailure() << describe(ruleCase) << ": step " << here.step << ", tensor "
                                  << here.tensor << ": probe " << i << " is " << here.values[i]
                                  << ", on the device " << there.values[i];
  }
  return AssertionSuccess();
}

AssertionResult SteppedSides::setHyperInMemory(const std::string &name, float value) {
  memory.emplace_back(sizeof(value));
  std::memcpy(memory.back().data(), &value, sizeof(value));
  const upd_tensor ofCpu = number(memory.back().data(), UPD_CPU);
  const upd_tensor ofDevice = number(copyToDevice(&value, sizeof(value)), on.kind);
  for (size_t group = 0; group < 2; ++group) {
    if (AssertionResult read =
            require(upd_optimizer_bind_hyper(cpu.optimizer.get(), group, name.c_str(), &ofCpu));
        !read)
      return read;
    if (AssertionResult read =
            require(upd_optimizer_bind_hyper(onDevice(), group, name.c_str(), &ofDevice));
        !read)
      return read;
  }
  return AssertionSuccess();
}

AssertionResult SteppedSides::bindSteps() {
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

/// The bytes of an existing state, with the scales of its blocks, which follow the codes.
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

AssertionResult SteppedSides::bindStates() {
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

AssertionResult SteppedSides::exchangeFiles() {
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

AssertionResult SteppedSides::stepBoth(float foundInf) {
  upd_tensor absent = {};
  absent.rank = UPD_ABSENT;
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
       {upd_optimizer_bind_found_inf(cpu.optimizer.get(), &foundOnCpu),
        upd_optimizer_bind_found_inf(onDevice(), &foundOnDevice),
        upd_optimizer_step(cpu.optimizer.get(), ofCpu.data(), ofCpu.size()),
        upd_optimizer_step(onDevice(), ofDevice.data(), ofDevice.size()),
        upd_optimizer_bind_found_inf(cpu.optimizer.get(), nullptr)})
    if (status != UPD_OK)
      return AssertionFailure() << upd_last_error();
  return AssertionSuccess();
}

AssertionResult SteppedSides::step(float foundInf) {
  AssertionResult stepped = stepBoth(foundInf);
  return stepped ? compare() : stepped;
}

AssertionResult SteppedSides::compare() {
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t steps, stepsOnDevice;
    upd_optimizer_get_step(cpu.optimizer.get(), i, &steps);
    if (AssertionResult got = require(upd_optimizer_get_step(onDevice(), i, &stepsOnDevice)); !got)
      return got;
    if (steps != stepsOnDevice)
      return AssertionFailure() << describe(ruleCase) << ": tensor " << i << " took " << steps
                                << " steps, on the device " << stepsOnDevice;
    if (!on.has(device.params[i], interface().param, cpu.params[i], bytesOf(i, interface().param)))
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
      if (!on.has(there.data, state.dtype, here.data, bytes))
        return AssertionFailure() << describe(ruleCase) << ": state `" << state.name
                                  << "` of tensor " << i << " differs";
    }
  }
  return compareProbes();
}
