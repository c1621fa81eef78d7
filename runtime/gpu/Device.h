//===- Device.h - The interface of devices ------------------------------------------*- C++ -*-===//
// A GPU or its emulator. Only kernels and the functions here access its memory. Thread-safe, if
// each thread uses its own streams.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICE_H
#define UPDRAFT_RUNTIME_GPU_DEVICE_H

#include "runtime/base/Kernels.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace updraft::gpu {

/// A queue of the caller. Its work runs in order, concurrently with the host. On CUDA a CUstream;
/// null is the default stream.
using Stream = void *;

/// A function of a loaded module.
using Kernel = const void *;

/// Loaded kernels. Must outlive their launches.
class Module {
public:
  virtual ~Module() = default;
  /// UPD_NOT_FOUND: no kernel has this name.
  virtual runtime::Status find(const std::string &name, Kernel &kernel) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// The name that the manufacturer gives it.
  virtual std::string name() const = 0;
  /// The number of blocks of UPD_GPU_THREADS threads that keeps it busy.
  virtual int64_t fullBlocks() const = 0;

  /// The bytes of matrices between stages that tensors may need at once. With more, tensors use the
  /// same memory, some after others. These should be enough to keep the device busy.
  virtual size_t matrixBytes() const { return size_t(1) << 30; }

  /// Uninitialized memory, aligned to 256 bytes. UPD_OUT_OF_MEMORY: there isn't enough.
  virtual runtime::Status allocate(size_t bytes, void **memory) = 0;
  /// Waits for launches that may use the memory. Null is allowed.
  virtual void release(void *memory) noexcept = 0;

  /// Zeroed memory of the host, which kernels can write to at the same address while the host reads
  /// it. UPD_OUT_OF_MEMORY: there isn't enough.
  virtual runtime::Status allocateShared(size_t bytes, std::shared_ptr<void> &memory) {
    memory.reset(std::calloc(bytes, 1), std::free);
    return memory ? runtime::Status() : runtime::Status(UPD_OUT_OF_MEMORY, "no memory to share");
  }

  virtual runtime::Status zero(void *memory, size_t bytes, Stream stream) = 0;
  /// `from` may change after this returns.
  virtual runtime::Status write(void *memory, const void *from, size_t bytes, Stream stream) = 0;
  /// Returns when `to` has been written.
  virtual runtime::Status read(void *to, const void *memory, size_t bytes, Stream stream) = 0;
  virtual runtime::Status wait(Stream stream) = 0;

  /// Whether work on the stream is recorded into a graph instead of running now. Then write, read
  /// and wait fail.
  virtual runtime::Status isCaptured(Stream stream, bool &captured) = 0;
  /// A stream of the device itself, which is never captured.
  virtual runtime::Status ownStream(Stream &stream) = 0;

  /// Devices that check accesses need to know which memory of the caller kernels may use. Valid
  /// until the next call.
  virtual bool looksAtAccesses() const { return false; }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): checkers keep it
  virtual void lend(std::vector<std::pair<const void *, size_t>> memory) {}

  /// Loads the kernels of a rule that was compiled for this kind of device.
  virtual runtime::Status load(const runtime::GPUKernels &kernels,
                               std::shared_ptr<Module> &module) = 0;
  /// Loads the engine's kernels, runtime/kernels/EngineKernels.h.
  virtual runtime::Status loadEngine(std::shared_ptr<Module> &module) = 0;
  /// Runs a kernel with this many blocks. `arguments` has the address of each argument, which is
  /// read before this returns. Errors in the kernel aren't reported here.
  virtual runtime::Status launch(Kernel kernel, int64_t blocks, void **arguments,
                                 Stream stream) = 0;

  /// The number of blocks for `items` with `perBlock` in each, limited to the number that keeps the
  /// device busy.
  int64_t blocksFor(size_t items, size_t perBlock) const {
    return std::min(static_cast<int64_t>((items + perBlock - 1) / perBlock), fullBlocks());
  }
};

/// Runs a kernel that takes an array and its length. Does nothing if the length is 0.
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
