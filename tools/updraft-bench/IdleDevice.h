//===- IdleDevice.h - A device whose operations take no time ------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_IDLEDEVICE_H
#define UPDRAFT_TOOLS_BENCH_IDLEDEVICE_H

#include "runtime/gpu/Device.h"

#include <cstdlib>

namespace updraft::bench {

/// Ignores all work, so that a step takes only the time of the host outside the driver.
class IdleDevice final : public gpu::Device {
public:
  size_t launches = 0;

  std::string name() const override { return "a device that does nothing"; }
  int64_t fullBlocks() const override { return 1056; }
  runtime::Status allocate(size_t bytes, void **memory) override {
    *memory = std::aligned_alloc(256, (bytes + 256) / 256 * 256);
    return *memory ? runtime::Status() : runtime::Status(UPD_OUT_OF_MEMORY, "no memory");
  }
  void release(void *memory) noexcept override { std::free(memory); }
  runtime::Status zero(void *, size_t, gpu::Stream) override { return {}; }
  runtime::Status write(void *, const void *, size_t, gpu::Stream) override { return {}; }
  runtime::Status read(void *, const void *, size_t, gpu::Stream) override { return {}; }
  runtime::Status wait(gpu::Stream) override { return {}; }
  runtime::Status isCaptured(gpu::Stream, bool &captured) override {
    captured = false;
    return {};
  }
  runtime::Status ownStream(gpu::Stream &stream) override {
    stream = nullptr;
    return {};
  }
  runtime::Status load(const runtime::GPUKernels &, std::shared_ptr<gpu::Module> &module) override {
    module = std::make_shared<AnyKernel>();
    return {};
  }
  runtime::Status loadEngine(std::shared_ptr<gpu::Module> &module) override {
    module = std::make_shared<AnyKernel>();
    return {};
  }
  runtime::Status launch(gpu::Kernel, int64_t, void **, gpu::Stream) override {
    ++launches;
    return {};
  }

private:
  class AnyKernel final : public gpu::Module {
    runtime::Status find(const std::string &, gpu::Kernel &kernel) override {
      kernel = this;
      return {};
    }
  };
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_IDLEDEVICE_H
