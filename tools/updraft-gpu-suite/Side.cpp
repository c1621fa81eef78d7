//===- Side.cpp - Steps of generated tensors, on CPU or device --------------------------------===//

#include "Side.h"

#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace updraft::harness;
using namespace updraft::suite;

Side::Memory::Memory(Device *device, size_t bytes) {
  if (device) {
    buffer = std::make_unique<Buffer>(*device, bytes);
    data = buffer->data();
  } else {
    own = std::make_unique<char[]>(bytes + 256);
    data = own.get() + (256 - reinterpret_cast<uintptr_t>(own.get()) % 256);
  }
}

Side::Side(Device *device, const RuleRequest &request, const std::vector<TensorShape> &shapes,
           size_t groups)
    : device(device), shapes(shapes), rule(compile(request, device ? device->target() : "")),
      optimizer(nullptr, upd_optimizer_release) {
  params = makeTensors(paramType());
  allGrads = grads = makeTensors(upd_rule_grad_dtype(rule.get()));
  for (size_t i = 0; i < shapes.size(); ++i)
    write(params[i].data, randomValues(paramType(), shapes[i].elements(), 1, 1000 + i));
  std::vector<std::vector<upd_tensor>> dealt(groups);
  for (size_t i = 0; i < params.size(); ++i)
    dealt[i * groups / params.size()].push_back(params[i]);
  optimizer = makeOptimizer(rule.get(), dealt);
  if (!device || !device->stream())
    return;
  device->wait();
  check(upd_optimizer_set_stream(optimizer.get(), device->stream()));
}

/// Puts all tensors into one allocation, each at its offset from an aligned address.
std::vector<upd_tensor> Side::makeTensors(upd_dtype dtype) {
  const int64_t size = sizeOf(dtype);
  int64_t bytes = 0;
  std::vector<int64_t> starts;
  for (const TensorShape &shape : shapes) {
    starts.push_back(bytes + shape.offset * size);
    bytes += ((shape.elements() + shape.offset) * size + 255) / 256 * 256;
  }
  memory.push_back(std::make_unique<Memory>(device, static_cast<size_t>(bytes)));
  std::vector<upd_tensor> tensors;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<int64_t> &sizes = shapes[i].sizes;
    tensors.push_back({memory.back()->data + starts[i], sizes.data(), nullptr,
                       static_cast<int32_t>(sizes.size()), dtype, device ? device->kind() : UPD_CPU,
                       0, 0});
  }
  return tensors;
}

void Side::write(void *memory, const std::vector<char> &bytes) {
  if (device)
    device->write(memory, bytes.data(), bytes.size());
  else if (!bytes.empty())
    std::memcpy(memory, bytes.data(), bytes.size());
}

std::vector<char> Side::read(const void *memory, size_t bytes) {
  std::vector<char> result(bytes);
  if (device)
    device->read(result.data(), memory, bytes);
  else if (bytes != 0)
    std::memcpy(result.data(), memory, bytes);
  return result;
}

upd_tensor Side::number(const Memory &memory) const {
  return {memory.data, nullptr, nullptr, 0, UPD_F32, device ? device->kind() : UPD_CPU, 0, 0};
}

void Side::writeNumber(std::unique_ptr<Memory> &memory, float value) {
  if (!memory)
    memory = std::make_unique<Memory>(device, sizeof(value));
  std::vector<char> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  write(memory->data, bytes);
}

bool Side::hasHyper(const std::string &name) const {
  for (size_t i = 0; i < upd_rule_hyper_count(rule.get()); ++i)
    if (upd_rule_hyper_name(rule.get(), i) == name)
      return true;
  return false;
}

double Side::defaultOf(const std::string &name) const {
  double value = 0;
  check(upd_optimizer_get_hyper(optimizer.get(), 0, name.c_str(), &value));
  return value;
}

void Side::setHyper(size_t group, const std::string &name, double value) {
  check(upd_optimizer_set_hyper(optimizer.get(), group, name.c_str(), value));
}

void Side::bindHyper(const std::string &name, float value) {
  writeNumber(lr, value);
  const upd_tensor tensor = number(*lr);
  check(upd_optimizer_bind_hyper(optimizer.get(), 0, name.c_str(), &tensor));
}

void Side::setRead(float value) { writeNumber(lr, value); }

void Side::setFoundInf(float value) {
  const bool isNew = !foundInf;
  writeNumber(foundInf, value);
  const upd_tensor tensor = number(*foundInf);
  if (isNew)
    check(upd_optimizer_bind_found_inf(optimizer.get(), &tensor));
}

void Side::bindStep(size_t tensor) {
  writeNumber(boundCount, 0);
  const upd_tensor count = number(*boundCount);
  check(upd_optimizer_bind_step(optimizer.get(), tensor, &count));
}

float Side::boundStep() {
  float count = 0;
  std::memcpy(&count, read(boundCount->data, sizeof(count)).data(), sizeof(count));
  return count;
}

void Side::makeGradients(uint64_t seed, const std::set<size_t> &absent) {
  grads = allGrads;
  for (size_t i = 0; i < grads.size(); ++i)
    if (absent.count(i) != 0)
      grads[i] = {nullptr, nullptr, nullptr, -1, grads[i].dtype, grads[i].device, 0, 0};
    else
      write(grads[i].data,
            randomValues(grads[i].dtype, shapes[i].elements(), 0.1, (seed << 32) + i));
}

void Side::step() { check(upd_optimizer_step(optimizer.get(), grads.data(), grads.size())); }

void Side::makeRowGradients(uint64_t seed) {
  makeGradients(seed);
  indices.clear();
  rowGrads.clear();
  rowSizes.resize(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].sizes.empty())
      continue;
    std::vector<int64_t> rows;
    const std::vector<char> chances = randomBits(shapes[i].sizes[0], (seed << 32) + i);
    for (int64_t row = 0; row < shapes[i].sizes[0]; ++row)
      if (chances[static_cast<size_t>(row)] > -40)
        rows.push_back(row);
    std::vector<char> bytes(rows.size() * sizeof(int64_t));
    if (!rows.empty())
      std::memcpy(bytes.data(), rows.data(), bytes.size());
    indices.push_back(std::make_unique<Memory>(device, bytes.size()));
    write(indices.back()->data, bytes);
    rowSizes[i] = shapes[i].sizes;
    rowSizes[i][0] = static_cast<int64_t>(rows.size());
    upd_tensor values = grads[i];
    values.shape = rowSizes[i].data();
    rowGrads.push_back(
        {i, reinterpret_cast<const int64_t *>(indices.back()->data), rows.size(), values, 0});
    grads[i] = {nullptr, nullptr, nullptr, -1, grads[i].dtype, grads[i].device, 0, 0};
  }
}

void Side::stepRows() {
  check(upd_optimizer_step_rows(optimizer.get(), grads.data(), grads.size(), rowGrads.data(),
                                rowGrads.size()));
}

void Side::save(const std::string &path) const {
  check(upd_optimizer_save(optimizer.get(), path.c_str()));
}

void Side::load(const std::string &path) {
  check(upd_optimizer_load(optimizer.get(), path.c_str()));
}

std::vector<std::string> Side::states() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < upd_rule_state_count(rule.get()); ++i) {
    names.emplace_back(upd_rule_state_name(rule.get(), i));
    const upd_dtype dtype = upd_rule_state_dtype(rule.get(), i);
    if (dtype == UPD_Q8_LINEAR || dtype == UPD_Q8_COMPANDED)
      names.push_back(names.back() + ".scale");
  }
  return names;
}

bool Side::hasStage(const std::string &member, const std::string &text) const {
  const auto interface = nlohmann::json::parse(upd_rule_interface(rule.get()));
  for (const auto &plan : interface.at("plans"))
    for (const auto &stage : plan.at("sequence"))
      if (stage.contains(member) && (text.empty() || stage.at(member) == text))
        return true;
  return false;
}

std::vector<char> Side::param(size_t tensor) {
  return read(params[tensor].data,
              static_cast<size_t>(shapes[tensor].elements() * sizeOf(paramType())));
}

bool Side::state(size_t tensor, const std::string &name, std::vector<char> &bytes,
                 upd_dtype &dtype) {
  upd_tensor view{};
  const upd_status status = upd_optimizer_state(optimizer.get(), tensor, name.c_str(), &view);
  if (status == UPD_NOT_FOUND)
    return false;
  check(status);
  int64_t elements = 1;
  for (int32_t i = 0; i < view.rank; ++i)
    elements *= view.shape[i];
  dtype = view.dtype;
  bytes = read(view.data, static_cast<size_t>(elements * sizeOf(dtype)));
  return true;
}

std::vector<int64_t> Side::steps() {
  std::vector<int64_t> steps(shapes.size());
  check(upd_optimizer_get_steps(optimizer.get(), steps.data(), steps.size()));
  return steps;
}

void updraft::suite::compare(Side &cpu, Side &device, const std::string &when) {
  auto fail = [&](size_t tensor, const std::string &what, const std::string &difference) {
    throw std::runtime_error(fmt::format("{}, tensor {} {}, {}: {}", when, tensor,
                                         cpu.shape(tensor).text(), what, difference));
  };
  const std::vector<std::string> states = cpu.states();
  const std::vector<int64_t> steps = cpu.steps(), deviceSteps = device.steps();
  for (size_t i = 0; i < cpu.tensors(); ++i) {
    if (steps[i] != deviceSteps[i])
      fail(i, "steps", fmt::format("{} on the CPU, {} on the device", steps[i], deviceSteps[i]));
    if (std::string text = differenceOf(cpu.paramType(), cpu.param(i), device.param(i));
        !text.empty())
      fail(i, "parameter", text);
    for (const std::string &state : states) {
      std::vector<char> expected, found;
      upd_dtype dtype = UPD_F32, deviceType = UPD_F32;
      const bool hasState = cpu.state(i, state, expected, dtype);
      const bool deviceHas = device.state(i, state, found, deviceType);
      if (hasState != deviceHas || dtype != deviceType)
        fail(i, state, hasState ? "only on the CPU" : "only on the device");
      if (std::string text = differenceOf(dtype, expected, found); !text.empty())
        fail(i, state, text);
    }
  }
}
