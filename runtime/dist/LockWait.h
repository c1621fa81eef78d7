//===- LockWait.h - How long steps wait for each other ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_LOCKWAIT_H
#define UPDRAFT_RUNTIME_DIST_LOCKWAIT_H

#include <cstdint>
#include <mutex>

namespace updraft::dist {

/// Takes the lock. What it waited, if somebody had it, is added to `lockWait`; a free lock costs no
/// look at the clock. Any thread.
void lockCounted(std::mutex &mutex);

/// Nanoseconds that the threads of this process have waited in `lockCounted`, one beside the other:
/// two that wait for a second count as two. Those that still wait are not in it. Any thread.
int64_t lockWait();

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_LOCKWAIT_H
