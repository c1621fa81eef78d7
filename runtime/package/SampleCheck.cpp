//===- SampleCheck.cpp - Compares a package's code with its sample ----------------------------===//

#include "runtime/package/SampleCheck.h"

#include "runtime/base/ElementComparison.h"
#include "runtime/base/Safetensors.h"
#include "runtime/cpu/CpuOptimizer.h"
#include "runtime/package/Machine.h"
#include "runtime/package/PackagedRule.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

using namespace updraft;
using namespace updraft::package;
using runtime::SafetensorsEntry;
using runtime::SafetensorsFile;
using runtime::Status;

namespace {

/// More is a mistake.
constexpr size_t maxParams = 64;
constexpr int64_t maxSteps = 64;

class SampleRun {
public:
  SampleRun(const Package &package, const Image &image) : package(package), image(image) {}

  Status run(SampleSize &compared);

private:
  struct Tensor {
    const SafetensorsEntry *entry = nullptr;
    std::vector<uint64_t> memory; ///< aligned for every type
  };

  Status damaged(const std::string &text) const {
    return runtime::invalidArgument(
        fmt::format("`{}` is not a valid package: its sample {}", package.name(), text));
  }
  Status open();
  Status read(const std::string &name, upd_dtype dtype, Tensor &to, upd_tensor &view);
  Status create();
  Status step(int64_t number);
  Status compare(SampleSize &compared);
  Status compare(const SafetensorsEntry &entry, const void *found, SampleSize &compared) const;
  Status findState(const std::string &place, const SafetensorsEntry &entry, const void *&data);

  const Package &package;
  const Image &image;
  SafetensorsFile sample;
  int64_t steps = 0;
  std::shared_ptr<const runtime::Kernels> kernels;
  std::vector<Tensor> params;
  std::unique_ptr<runtime::Optimizer> optimizer;
};

Status SampleRun::open() {
  const std::string_view content = package.variants()[image.variant].sample;
  if (Status status = SafetensorsFile::openBytes(
          content, fmt::format("the sample of {}", package.name()), sample);
      !status.ok())
    return status;
  const auto text = sample.metadata().find("steps");
  if (text == sample.metadata().end())
    return damaged("doesn't say its number of steps");
  const char *end = text->second.data() + text->second.size();
  const auto parsed = std::from_chars(text->second.data(), end, steps);
  if (parsed.ec != std::errc() || parsed.ptr != end || steps < 1 || steps > maxSteps)
    return damaged(fmt::format("has `{}` steps, expected 1 to {}", text->second, maxSteps));
  return loadKernels(package, image, kernels);
}

Status SampleRun::read(const std::string &name, upd_dtype dtype, Tensor &to, upd_tensor &view) {
  to.entry = sample.find(name);
  if (!to.entry || to.entry->type != runtime::safetensorsType(dtype))
    return damaged(
        fmt::format("has no `{}` of type {}", name, nameOf(runtime::safetensorsType(dtype))));
  const size_t bytes = to.entry->end - to.entry->begin;
  to.memory.resize(bytes / sizeof(uint64_t) + 1);
  view = {};
  view.data = to.memory.data();
  view.shape = to.entry->shape.data();
  view.rank = static_cast<int32_t>(to.entry->shape.size());
  view.dtype = dtype;
  view.device = UPD_CPU;
  return sample.read(*to.entry, 0, to.memory.data(), bytes);
}

Status SampleRun::create() {
  size_t count = 0;
  while (sample.find(fmt::format("param/{}", count)))
    ++count;
  if (count == 0 || count > maxParams)
    return damaged(fmt::format("has {} parameters, expected 1 to {}", count, maxParams));
  params.resize(count);
  std::vector<upd_tensor> views(count);
  for (size_t i = 0; i < count; ++i)
    if (Status status =
            read(fmt::format("param/{}", i), kernels->interface.param, params[i], views[i]);
        !status.ok())
      return status;
  upd_group group = {};
  group.params = views.data();
  group.param_count = count;
  return runtime::CpuOptimizer::create(kernels, &group, 1, nullptr, optimizer);
}

Status SampleRun::step(int64_t number) {
  std::vector<Tensor> grads(params.size());
  std::vector<upd_tensor> views(params.size());
  for (size_t i = 0; i < grads.size(); ++i)
    if (Status status =
            read(fmt::format("grad/{}/{}", i, number), kernels->interface.grad, grads[i], views[i]);
        !status.ok())
      return status;
  return optimizer->step(views.data(), views.size());
}

/// Finds a state by `PARAM/STATE`.
Status SampleRun::findState(const std::string &place, const SafetensorsEntry &entry,
                            const void *&data) {
  size_t param = 0;
  const char *end = place.data() + place.size();
  const auto parsed = std::from_chars(place.data(), end, param);
  if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != '/' || param >= params.size())
    return damaged(fmt::format("has an unknown tensor `{}`", entry.name));
  upd_tensor state;
  if (Status status = optimizer->state(param, parsed.ptr + 1, state); !status.ok())
    return status;
  uint64_t bytes = sizeOf(runtime::safetensorsType(state.dtype));
  for (int32_t i = 0; i < state.rank; ++i)
    bytes *= static_cast<uint64_t>(state.shape[i]);
  if (bytes != entry.end - entry.begin)
    return damaged(fmt::format("has {} bytes of `{}`, and the rule {}", entry.end - entry.begin,
                               entry.name, bytes));
  data = state.data;
  return {};
}

Status SampleRun::compare(const SafetensorsEntry &entry, const void *found,
                          SampleSize &compared) const {
  std::vector<char> expected(entry.end - entry.begin);
  if (Status status = sample.read(entry, 0, expected.data(), expected.size()); !status.ok())
    return status;
  const auto *bytes = static_cast<const char *>(found);
  const size_t count = expected.size() / sizeOf(entry.type);
  const size_t element = runtime::firstDifference(entry.type, expected.data(), bytes, count);
  if (element != count) {
    auto hex = [&](const char *data) {
      std::string text;
      for (size_t i = sizeOf(entry.type); i-- > 0;)
        text += fmt::format("{:02x}", uint8_t(data[element * sizeOf(entry.type) + i]));
      return text;
    };
    return {UPD_INTERNAL_ERROR,
            fmt::format("package `{}` computes other bits for `{}` than its sample has: element {} "
                        "of `{}` is {}, expected {}",
                        package.name(), image.target, element, entry.name, hex(bytes),
                        hex(expected.data()))};
  }
  compared.tensors += 1;
  compared.bytes += expected.size();
  return {};
}

Status SampleRun::compare(SampleSize &compared) {
  constexpr std::string_view ofParams = "expected/param/", ofStates = "expected/state/";
  for (size_t i = 0; i < params.size(); ++i) {
    const SafetensorsEntry *entry = sample.find(fmt::format("{}{}", ofParams, i));
    if (!entry || entry->type != params[i].entry->type || entry->shape != params[i].entry->shape)
      return damaged(fmt::format("has no `{}{}` like its `param/{}`", ofParams, i, i));
    if (Status status = compare(*entry, params[i].memory.data(), compared); !status.ok())
      return status;
  }
  for (const SafetensorsEntry &entry : sample.tensors()) {
    if (!entry.name.starts_with(ofStates))
      continue;
    const void *data = nullptr;
    if (Status status = findState(entry.name.substr(ofStates.size()), entry, data); !status.ok())
      return status;
    if (Status status = compare(entry, data, compared); !status.ok())
      return status;
  }
  return {};
}

Status SampleRun::run(SampleSize &compared) {
  if (Status status = open(); !status.ok())
    return status;
  if (Status status = create(); !status.ok())
    return status;
  for (int64_t number = 1; number <= steps; ++number)
    if (Status status = step(number); !status.ok())
      return status;
  compared = {steps};
  if (kernels->interface.hasBF16Products() &&
      Machine::multipliesBF16(image.architecture, image.level)) {
    compared.otherBits = "bf16 products";
    return {};
  }
  Status status = compare(compared);
  const std::vector<runtime::PlanInterface> &plans = kernels->interface.plans;
  if (status.code() == UPD_INTERNAL_ERROR &&
      std::any_of(plans.begin(), plans.end(),
                  [](const runtime::PlanInterface &plan) { return plan.needsLapack(); })) {
    compared = {steps, 0, 0, "LAPACK"};
    return {};
  }
  return status;
}

} // namespace

Status package::checkSample(const Package &package, const Image &image, SampleSize &compared) {
  return SampleRun(package, image).run(compared);
}
