//===- Lock.h - A lock that any thread can release ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_LOCK_H
#define UPDRAFT_RUNTIME_DIST_LOCK_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace updraft::dist {

/// How long to wait for a lock.
using Patience = std::chrono::milliseconds;
constexpr Patience forever = Patience::max();

/// A lock that belongs to a step, not to a thread. Thread-safe.
class Lock {
public:
  /// Returns false if it isn't free in time. Adds the waiting time to `lockWait`; a free lock
  /// doesn't cost a clock read.
  bool lock(Patience patience = forever);
  void unlock();

private:
  std::mutex mutex;
  std::condition_variable freed;
  bool isHeld = false;
};

/// Nanoseconds that the threads of this process have waited for locks. Simultaneous waits are added
/// up: two threads that wait for a second count as two. Unfinished waits aren't included.
/// Thread-safe.
int64_t lockWait();

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_LOCK_H
