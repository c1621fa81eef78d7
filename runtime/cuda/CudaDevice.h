//===- CudaDevice.h - An NVIDIA GPU -------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CUDA_CUDADEVICE_H
#define UPDRAFT_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/LoadedImage.h"
#include "runtime/cuda/StagingMemory.h"
#include "runtime/gpu/Device.h"

#include <map>
#include <mutex>

namespace updraft::cuda {

/// A CUDA device, in its primary context, which torch and the CUDA runtime use too. The calling
/// thread's current context doesn't change, and captures of other streams aren't disturbed. On a
/// stream that is being captured, `zero` and `launch` are recorded. `write`, `read` and `wait` fail
/// with UPD_UNSUPPORTED and don't affect the capture. Memory that was written before a capture
/// keeps its content when the graph runs.
class CudaDevice : public gpu::Device, public std::enable_shared_from_this<CudaDevice> {
public:
  /// Opens the device with that number among those that CUDA_VISIBLE_DEVICES allows. There is one
  /// object per device, which lives as long as the process and has the first call's `enginePtx`:
  /// the kernels in runtime/kernels/EngineKernels.h. UPD_UNSUPPORTED: as from Driver::load.
  /// UPD_INVALID_ARGUMENT: the device doesn't exist.
  static runtime::Status open(int ordinal, const std::string &enginePtx,
                              std::shared_ptr<CudaDevice> &device);
  /// Creates a separate object for a device. The driver must outlive it.
  static runtime::Status make(const Driver &driver, int ordinal, const std::string &enginePtx,
                              std::shared_ptr<CudaDevice> &device);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice &) = delete;

  /// The driver's name: "NVIDIA H200".
  std::string name() const override { return target.name; }
  int64_t fullBlocks() const override { return blocks; }
  int computeMajor() const { return target.major; }
  int computeMinor() const { return target.minor; }

  runtime::Status allocate(size_t bytes, void **memory) override;
  void release(void *memory) noexcept override;
  runtime::Status allocateShared(size_t bytes, std::shared_ptr<void> &memory) override;
  runtime::Status zero(void *memory, size_t bytes, gpu::Stream stream) override;
  runtime::Status write(void *memory, const void *from, size_t bytes, gpu::Stream stream) override;
  runtime::Status read(void *to, const void *memory, size_t bytes, gpu::Stream stream) override;
  runtime::Status wait(gpu::Stream stream) override;
  runtime::Status isCaptured(gpu::Stream stream, bool &captured) override;
  runtime::Status ownStream(gpu::Stream &stream) override;

  /// Modules with the same PTX are shared while one of them exists.
  runtime::Status load(const runtime::GPUKernels &kernels,
                       std::shared_ptr<gpu::Module> &module) override;
  runtime::Status loadEngine(std::shared_ptr<gpu::Module> &module) override;
  runtime::Status launch(gpu::Kernel kernel, int64_t blocks, void **arguments,
                         gpu::Stream stream) override;

private:
  class Scope;
  class CudaModule;

  CudaDevice(const Driver &driver, DeviceNumber number) : driver(driver), number(number) {}
  runtime::Status start(const std::string &engine);
  runtime::Status loadPtx(const std::string &ptx, std::shared_ptr<gpu::Module> &module);
  /// Fails if the stream is being captured.
  runtime::Status checkNotCaptured(Queue *stream, const std::string &what,
                                   const char *reason) const;

  const Driver &driver;
  DeviceNumber number;
  Context *context = nullptr;
  Target target{};
  int64_t blocks = 1;
  std::string enginePtx;
  std::unique_ptr<StagingMemory> staging;
  std::once_flag ownStreamMade;
  runtime::Status ownStreamStatus;
  Queue *queue = nullptr; ///< the device's own stream

  std::mutex modulesMutex;
  std::map<std::string, std::weak_ptr<CudaModule>, std::less<>> modules; ///< by PTX
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_CUDADEVICE_H
