//===- Lock.h - A lock that any thread can release ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_LOCK_H
#define UPDRAFT_RUNTIME_DIST_LOCK_H

#include "runtime/timeline/Span.h"

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
  /// Returns false if it isn't free in time. Adds the waiting time to `lockWait`, and a span to the
  /// timeline; a free lock doesn't cost a clock read. `nameOf()` is the name of what the lock
  /// guards.
  template <typename NameOf> bool lock(Patience patience, const NameOf &nameOf) {
    std::unique_lock lock(mutex);
    if (isHeld) {
      const timeline::Span span("lock",
                                [&](timeline::Event &event) { event.name("wait for ", nameOf()); });
      if (!wait(lock, patience))
        return false;
    }
    isHeld = true;
    return true;
  }
  bool lock(Patience patience = forever) {
    return lock(patience, [] { return "an optimizer"; });
  }
  void unlock();

private:
  bool wait(std::unique_lock<std::mutex> &lock, Patience patience);

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
