//===- Device.h - What kernels run on -----------------------------------------------*- C++ -*-===//
// A GPU, or what stands for one. Memory is the device's own, and only kernels and the functions
// here touch it. Any thread may use a device, with streams of its own.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICE_H
#define UPDRAFT_RUNTIME_GPU_DEVICE_H

#include "runtime/base/Kernels.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace updraft::gpu {

/// A queue of the caller's: what is given to it runs in order, beside the host. On CUDA a CUstream;
/// null is the default one.
using Stream = void *;

/// A function of a loaded module.
using Kernel = const void *;

/// Kernels that are loaded. Outlives what was launched from it.
class Module {
public:
  virtual ~Module() = default;
  /// UPD_NOT_FOUND if it has no kernel of that name.
  virtual runtime::Status find(const std::string &name, Kernel &kernel) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// As its maker calls it.
  virtual std::string name() const = 0;
  /// How many blocks of UPD_GPU_THREADS threads keep it busy.
  virtual int64_t fullBlocks() const = 0;

  /// Memory aligned to 256 bytes, with whatever it holds. UPD_OUT_OF_MEMORY if there is not enough.
  virtual runtime::Status allocate(size_t bytes, void **memory) = 0;
  /// Null is allowed. Waits for what was launched and may use the memory.
  virtual void release(void *memory) noexcept = 0;

  virtual runtime::Status zero(void *memory, size_t bytes, Stream stream) = 0;
  /// `from` may change when this returns.
  virtual runtime::Status write(void *memory, const void *from, size_t bytes, Stream stream) = 0;
  /// Waits until `to` has been written.
  virtual runtime::Status read(void *to, const void *memory, size_t bytes, Stream stream) = 0;
  virtual runtime::Status wait(Stream stream) = 0;

  /// Whether what is given to the stream becomes part of a graph, and is not run now. It is refused
  /// then to write, read or wait.
  virtual runtime::Status isCaptured(Stream stream, bool &captured) = 0;
  /// A stream of the device's own, which is never captured.
  virtual runtime::Status ownStream(Stream &stream) = 0;

  /// A device that looks at accesses is told which memory of the caller's kernels may touch, until
  /// it is told anew.
  virtual bool looksAtAccesses() const { return false; }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who looks keeps it
  virtual void lend(std::vector<std::pair<const void *, size_t>> memory) {}

  /// The kernels of a rule that was compiled for this kind of device.
  virtual runtime::Status load(const runtime::GPUKernels &kernels,
                               std::shared_ptr<Module> &module) = 0;
  /// The kernels of the engine, runtime/kernels/EngineKernels.h.
  virtual runtime::Status loadEngine(std::shared_ptr<Module> &module) = 0;
  /// Runs a kernel in so many blocks. `arguments` has the address of each argument, which is read
  /// before this returns. Says nothing of what goes wrong in the kernel.
  virtual runtime::Status launch(Kernel kernel, int64_t blocks, void **arguments,
                                 Stream stream) = 0;

  /// As many blocks as go through `items`, or keep the device busy.
  int64_t blocksFor(size_t items, size_t perBlock) const {
    return std::min(static_cast<int64_t>((items + perBlock - 1) / perBlock), fullBlocks());
  }
};

/// Runs a kernel that takes an array and its length, unless that is 0.
template <typename T>
runtime::Status launchOver(Device &device, Kernel kernel, T *items, size_t count, size_t perBlock,
                           Stream stream) {
  if (count == 0)
    return {};
  auto length = static_cast<int64_t>(count);
  void *arguments[] = {&items, &length};
  return device.launch(kernel, device.blocksFor(count, perBlock), arguments, stream);
}

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICE_H
