//===- PoolParts.h - A loop spread over the threads of a pool -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_POOLPARTS_H
#define UPDRAFT_RUNTIME_BASE_POOLPARTS_H

#include "runtime/base/FloatEnvironment.h"
#include "runtime/timeline/Span.h"
#include "updraft-c/optimizer.h"

#include <algorithm>
#include <cstddef>

namespace updraft::runtime {

/// A pool that consists of the calling thread.
inline upd_pool callingThread() {
  upd_pool pool;
  pool.run = [](void *, int32_t count, void (*task)(void *, int32_t), void *context) {
    for (int32_t i = 0; i < count; ++i)
      task(context, i);
  };
  pool.thread_count = [](void *) -> int32_t { return 1; };
  pool.pool = nullptr;
  return pool;
}

/// Calls body(index) for each of `count` parts on the threads of the pool. The body must not throw.
/// The timeline shows how long the caller waits for other threads.
template <typename Body> void runParts(const upd_pool &pool, size_t count, const Body &body) {
  static thread_local const char thisThread = 0;
  struct Job {
    const Body &body;
    const char *caller;
    int64_t callerDone; ///< when the caller ended its last part; 0 without a timeline
  } job{body, nullptr, timeline::now()};
  if (job.callerDone != 0) [[unlikely]]
    job.caller = &thisThread;
  pool.run(
      pool.pool, static_cast<int32_t>(count),
      [](void *context, int32_t index) {
        DefaultFloatEnvironment environment;
        Job &job = *static_cast<Job *>(context);
        job.body(static_cast<size_t>(index));
        if (job.caller && job.caller == &thisThread) [[unlikely]]
          job.callerDone = timeline::now();
      },
      &job);
  if (job.callerDone != 0) [[unlikely]] {
    timeline::Event wait("wait", job.callerDone);
    wait.name("wait for threads");
    wait.end = timeline::now();
    timeline::add(wait);
  }
}

/// Calls body(begin, end) for contiguous parts that cover [0, count). Each part has at least
/// `grain` elements, unless it is the only one. The body must not throw.
template <typename Body>
void forParts(const upd_pool &pool, size_t count, size_t grain, const Body &body) {
  size_t parts = count / grain;
  if (parts > 1)
    parts = std::min(parts, static_cast<size_t>(std::max(pool.thread_count(pool.pool), 1)));
  if (parts <= 1)
    return body(size_t(0), count);
  runParts(pool, parts,
           [&](size_t part) { body(count * part / parts, count * (part + 1) / parts); });
}

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_POOLPARTS_H
