//===- LockWait.h - The time that steps wait for each other -------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_LOCKWAIT_H
#define UPDRAFT_RUNTIME_DIST_LOCKWAIT_H

#include <cstdint>
#include <mutex>

namespace updraft::dist {

/// Locks the mutex. If another thread holds it, adds the waiting time to `lockWait`. A free mutex
/// doesn't cost a clock read. Thread-safe.
void lockCounted(std::mutex &mutex);

/// Nanoseconds that the threads of this process have waited in `lockCounted`. Simultaneous waits
/// are added up: two threads that wait for a second count as two. Unfinished waits aren't included.
/// Thread-safe.
int64_t lockWait();

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_LOCKWAIT_H
