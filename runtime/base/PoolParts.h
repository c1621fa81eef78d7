//===- PoolParts.h - A loop spread over the threads of a pool -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_POOLPARTS_H
#define UPDRAFT_RUNTIME_BASE_POOLPARTS_H

#include "runtime/base/FloatEnvironment.h"
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

/// Calls body(begin, end) for contiguous parts that cover [0, count). Each part has at least
/// `grain` elements, unless it is the only one. The body must not throw.
template <typename Body>
void forParts(const upd_pool &pool, size_t count, size_t grain, const Body &body) {
  size_t parts = count / grain;
  if (parts > 1)
    parts = std::min(parts, static_cast<size_t>(std::max(pool.thread_count(pool.pool), 1)));
  if (parts <= 1)
    return body(size_t(0), count);
  struct Job {
    const Body &body;
    size_t count, parts;
  } job{body, count, parts};
  pool.run(
      pool.pool, static_cast<int32_t>(parts),
      [](void *context, int32_t index) {
        DefaultFloatEnvironment environment;
        const Job &job = *static_cast<const Job *>(context);
        const auto part = static_cast<size_t>(index);
        job.body(job.count * part / job.parts, job.count * (part + 1) / job.parts);
      },
      &job);
}

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_POOLPARTS_H
