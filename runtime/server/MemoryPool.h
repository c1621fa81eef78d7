//===- MemoryPool.h - Memory that is used again -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_MEMORYPOOL_H
#define UPDRAFT_RUNTIME_SERVER_MEMORYPOOL_H

#include "runtime/optimizer/StateArena.h"

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>

namespace updraft::server {

/// Keeps the memory of freed tensors for others of the same size. The system takes longer to
/// provide new pages than a push takes to fill them, and each step needs gradients of the same
/// sizes. Thread-safe.
class MemoryPool {
public:
  /// Returns memory with any content, or null data if there isn't such memory.
  runtime::StateArena take(size_t bytes);
  /// `bytes` is the size that the memory was allocated for.
  void put(runtime::StateArena memory, size_t bytes);
  /// Frees memory, the oldest first, until at most so many bytes are kept.
  void shrink(size_t most);
  /// Frees memory that has been here for this time.
  void freeUnused(std::chrono::seconds age);
  size_t bytes() const;

private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    runtime::StateArena memory;
    size_t bytes;
    Clock::time_point since;
  };
  /// Unmapping takes long, so it is done without the mutex.
  using List = std::list<Kept>;
  template <typename IsObsolete> void freeOldest(const IsObsolete &isObsolete);

  mutable std::mutex mutex;
  List kept; ///< the oldest first
  size_t total = 0;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_MEMORYPOOL_H
