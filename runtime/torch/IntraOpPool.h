//===- IntraOpPool.h - torch's own threads for a step -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H
#define UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H

#include "updraft-c/optimizer.h"

#include <algorithm>
#include <cstddef>

namespace updraft::torch_adapter {

/// The pool that torch's operators run on, with as many threads as `torch.set_num_threads` says
/// when a step begins. Lives for ever; any thread.
const upd_pool *intraOpPool();

/// Calls body(begin, end) for parts of [0, count) that cover it, on that pool's threads if each has
/// at least `grain`. Returns when all are done; the body must not throw.
template <typename Body> void forParts(size_t count, size_t grain, const Body &body) {
  const upd_pool &pool = *intraOpPool();
  const size_t most = count / grain;
  const size_t parts =
      most < 2 ? 1 : std::min(most, static_cast<size_t>(pool.thread_count(pool.pool)));
  if (parts < 2)
    return body(size_t(0), count);
  struct Job {
    const Body &body;
    size_t count, parts;
  } job{body, count, parts};
  pool.run(
      pool.pool, static_cast<int32_t>(parts),
      [](void *context, int32_t index) {
        const Job &job = *static_cast<const Job *>(context);
        const auto part = static_cast<size_t>(index);
        job.body(job.count * part / job.parts, job.count * (part + 1) / job.parts);
      },
      &job);
}

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H
