//===- EmulatedDevice.cpp - A device whose kernels run on the host ----------------------------===//

#include "runtime/emulator/EmulatedDevice.h"

#include "runtime/emulator/Launch.h"
#include "runtime/timeline/Span.h"

#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

using namespace updraft::emulator;
using namespace updraft::runtime;

#define UPD_ENGINE_KERNEL(member, name) extern "C" void name##_kernel(void **arguments);
#include "runtime/kernels/EngineKernels.def"

namespace {
constexpr size_t alignment = 256;

using NamedKernel = decltype(GPUKernels::emulated)::value_type;

class EmulatedModule final : public updraft::gpu::Module {
public:
  explicit EmulatedModule(GPUKernels kernels) : kernels(std::move(kernels)) {}

  Status find(const std::string &name, updraft::gpu::Kernel &kernel) override {
    const auto found = kernels.emulated.find(name);
    if (found == kernels.emulated.end())
      return notFound(fmt::format("there is no emulated kernel `{}`", name));
    kernel = &*found;
    return {};
  }

private:
  GPUKernels kernels;
};
} // namespace

EmulatedDevice::~EmulatedDevice() {
  for (const auto &[memory, bytes] : allocations)
    std::free(memory);
}

Status EmulatedDevice::allocate(size_t bytes, void **memory) {
  *memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (!*memory)
    return {UPD_OUT_OF_MEMORY, fmt::format("cannot allocate {} bytes on the emulator", bytes)};
  // Makes sure that unwritten memory isn't zero by accident.
  std::memset(*memory, 0xa5, bytes);
  std::lock_guard lock(mutex);
  allocations.emplace(*memory, bytes);
  return {};
}

void EmulatedDevice::release(void *memory) noexcept {
  {
    std::lock_guard lock(mutex);
    allocations.erase(memory);
  }
  std::free(memory);
}

Status EmulatedDevice::zero(void *memory, size_t bytes, gpu::Stream stream) {
  if (bytes != 0)
    std::memset(memory, 0, bytes);
  return {};
}

Status EmulatedDevice::write(void *memory, const void *from, size_t bytes, gpu::Stream stream) {
  if (bytes != 0)
    std::memcpy(memory, from, bytes);
  return {};
}

Status EmulatedDevice::read(void *to, const void *memory, size_t bytes, gpu::Stream stream) {
  if (bytes != 0)
    std::memcpy(to, memory, bytes);
  return {};
}

void EmulatedDevice::lend(std::vector<std::pair<const void *, size_t>> memory) {
  std::lock_guard lock(mutex);
  lent = std::move(memory);
}

Status EmulatedDevice::load(const GPUKernels &kernels, std::shared_ptr<gpu::Module> &module) {
  if (kernels.emulated.empty())
    return {UPD_UNSUPPORTED, "the rule was not compiled for the emulator"};
  module = std::make_shared<EmulatedModule>(kernels);
  return {};
}

Status EmulatedDevice::loadEngine(std::shared_ptr<gpu::Module> &module) {
  GPUKernels kernels;
#define UPD_ENGINE_KERNEL(member, name) kernels.emulated.emplace(#name, name##_kernel);
#include "runtime/kernels/EngineKernels.def"
  module = std::make_shared<EmulatedModule>(std::move(kernels));
  return {};
}

Status EmulatedDevice::launch(gpu::Kernel kernel, int64_t blocks, void **arguments,
                              gpu::Stream stream) {
  Launch launch;
  {
    std::lock_guard lock(mutex);
    for (const auto &[memory, bytes] : allocations)
      launch.allow(memory, static_cast<int64_t>(bytes));
    for (const auto &[memory, bytes] : lent)
      launch.allow(memory, static_cast<int64_t>(bytes));
  }
  const auto &[kernelName, function] = *static_cast<const NamedKernel *>(kernel);
  const timeline::Span span(
      "kernel", [&](timeline::Event &event) { event.name(kernelName, " on the emulator"); });
  launch.run(function, arguments, blocks);
  return {};
}
