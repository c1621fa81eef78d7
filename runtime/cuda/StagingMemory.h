//===- StagingMemory.h - Host memory that copies to a GPU start from ----------------*- C++ -*-===//
// A copy to a GPU may read its source after the call has returned. What is given to a device goes
// through memory that stays as it is until then.

#ifndef UPDRAFT_RUNTIME_CUDA_STAGINGMEMORY_H
#define UPDRAFT_RUNTIME_CUDA_STAGINGMEMORY_H

#include "runtime/cuda/Driver.h"

#include <mutex>
#include <vector>

namespace updraft::cuda {

/// Page-locked buffers, made when they are needed. Any thread; the context is current in each call
/// and when it ends.
class StagingMemory {
public:
  static constexpr size_t bufferBytes = size_t(256) << 10;
  static constexpr size_t mostBuffers = 32;

  explicit StagingMemory(const Driver &driver) : driver(driver) {}
  ~StagingMemory();
  StagingMemory(const StagingMemory &) = delete;

  /// `from` may change when this returns, the copy being behind what is in the stream. Waits only
  /// while all buffers are in use.
  Result copy(DevicePointer to, const void *from, size_t bytes, Queue *stream);

private:
  struct Buffer {
    void *memory = nullptr;
    Event *copied = nullptr; ///< is reached when the memory is free
  };
  Result acquire(Buffer &buffer);
  Result make(Buffer &buffer) const;
  void destroy(const Buffer &buffer) const;

  const Driver &driver;
  std::mutex mutex;
  std::vector<Buffer> buffers; ///< in the order in which they were used
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_STAGINGMEMORY_H
