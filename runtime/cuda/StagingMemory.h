//===- StagingMemory.h - Host memory for copies to a GPU ----------------------------*- C++ -*-===//
// A copy to a GPU may read its source after the call has returned. This memory holds the data until
// the copy is complete.

#ifndef UPDRAFT_RUNTIME_CUDA_STAGINGMEMORY_H
#define UPDRAFT_RUNTIME_CUDA_STAGINGMEMORY_H

#include "runtime/cuda/Driver.h"

#include <mutex>
#include <vector>

namespace updraft::cuda {

/// Page-locked buffers, allocated on demand. Thread-safe; the context must be current in each call
/// and in the destructor.
class StagingMemory {
public:
  static constexpr size_t bufferBytes = size_t(256) << 10;
  static constexpr size_t mostBuffers = 32;

  explicit StagingMemory(const Driver &driver) : driver(driver) {}
  ~StagingMemory();
  StagingMemory(const StagingMemory &) = delete;

  /// Copies in stream order. `from` may change after this returns. Only waits if all buffers are in
  /// use.
  Result copy(DevicePointer to, const void *from, size_t bytes, Queue *stream);

private:
  struct Buffer {
    void *memory = nullptr;
    Event *copied = nullptr; ///< signals that the buffer is free
  };
  Result acquire(Buffer &buffer);
  Result make(Buffer &buffer) const;
  void destroy(const Buffer &buffer) const;

  const Driver &driver;
  std::mutex mutex;
  std::vector<Buffer> buffers; ///< in order of use
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_STAGINGMEMORY_H
