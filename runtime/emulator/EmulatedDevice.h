//===- EmulatedDevice.h - A device whose kernels run on the host --------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_EMULATOR_EMULATEDDEVICE_H
#define UPDRAFT_RUNTIME_EMULATOR_EMULATEDDEVICE_H

#include "runtime/gpu/Device.h"

#include <map>
#include <mutex>

namespace updraft::emulator {

/// Runs work on a stream immediately. Kernels of rules may only access memory that was allocated or
/// lent here; the engine's kernels aren't checked. For rules that were compiled for the target
/// `emulator`.
class EmulatedDevice final : public gpu::Device {
public:
  ~EmulatedDevice() override;

  std::string name() const override { return "emulator"; }
  int64_t fullBlocks() const override { return 3; }       // few, so that each has several chunks
  size_t matrixBytes() const override { return 1 << 16; } // few, so that tensors share memory

  runtime::Status allocate(size_t bytes, void **memory) override;
  void release(void *memory) noexcept override;
  runtime::Status zero(void *memory, size_t bytes, gpu::Stream stream) override;
  runtime::Status write(void *memory, const void *from, size_t bytes, gpu::Stream stream) override;
  runtime::Status read(void *to, const void *memory, size_t bytes, gpu::Stream stream) override;
  runtime::Status wait(gpu::Stream stream) override { return {}; }

  runtime::Status isCaptured(gpu::Stream stream, bool &captured) override {
    captured = false;
    return {};
  }
  runtime::Status ownStream(gpu::Stream &stream) override {
    stream = nullptr;
    return {};
  }
  bool looksAtAccesses() const override { return true; }
  void lend(std::vector<std::pair<const void *, size_t>> memory) override;

  runtime::Status load(const runtime::GPUKernels &kernels,
                       std::shared_ptr<gpu::Module> &module) override;
  runtime::Status loadEngine(std::shared_ptr<gpu::Module> &module) override;
  runtime::Status launch(gpu::Kernel kernel, int64_t blocks, void **arguments,
                         gpu::Stream stream) override;

private:
  std::mutex mutex;
  std::map<void *, size_t> allocations; ///< with sizes in bytes
  std::vector<std::pair<const void *, size_t>> lent;
};

} // namespace updraft::emulator

#endif // UPDRAFT_RUNTIME_EMULATOR_EMULATEDDEVICE_H
