//===- LimitKernel.cpp - What moving the bytes costs ------------------------------------------===//
// Plain loops over the streams of a step, vectorised by the compiler. The gradient is the read-only
// stream; every other one is combined with it under a mask that is zero at run time, so that
// neither load nor store can be left out and no value changes.

#include "LimitKernel.h"

#include "runtime/cpu/ThreadPool.h"

#include <algorithm>
#include <iterator>

using namespace updraft::bench;

namespace {
volatile uint32_t opaqueZero = 0;

#if defined(__x86_64__)
#define UPDRAFT_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define UPDRAFT_CLONES
#endif

UPDRAFT_CLONES void touch32(const uint32_t *__restrict g, uint32_t *__restrict p, int64_t n,
                            uint32_t zero) {
  for (int64_t i = 0; i < n; ++i)
    p[i] ^= g[i] & zero;
}

UPDRAFT_CLONES void touch32x2(const uint32_t *__restrict g, uint32_t *__restrict p,
                              uint32_t *__restrict a, int64_t n, uint32_t zero) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t x = g[i] & zero;
    p[i] ^= x;
    a[i] ^= x;
  }
}

UPDRAFT_CLONES void touch32x3(const uint32_t *__restrict g, uint32_t *__restrict p,
                              uint32_t *__restrict a, uint32_t *__restrict b, int64_t n,
                              uint32_t zero) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t x = g[i] & zero;
    p[i] ^= x;
    a[i] ^= x;
    b[i] ^= x;
  }
}

UPDRAFT_CLONES void touchMixed(const uint16_t *__restrict g, uint16_t *__restrict p,
                               uint32_t *__restrict a, uint32_t *__restrict b, int64_t n,
                               uint32_t zero) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t x = g[i] & zero;
    p[i] ^= static_cast<uint16_t>(x);
    a[i] ^= x;
    b[i] ^= x;
  }
}

UPDRAFT_CLONES void touch16x3(const uint16_t *__restrict g, uint16_t *__restrict p,
                              uint16_t *__restrict a, uint16_t *__restrict b, int64_t n,
                              uint16_t zero) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t x = g[i] & zero;
    p[i] ^= x;
    a[i] ^= x;
    b[i] ^= x;
  }
}

template <typename T> T *at(const LimitStream &stream, int64_t element) {
  return static_cast<T *>(stream.data) + element;
}

/// The gradient first, then the written streams.
bool touch(const std::vector<LimitStream> &s, int64_t begin, int64_t n, uint32_t zero) {
  std::vector<int> bytes;
  for (const LimitStream &stream : s)
    bytes.push_back(stream.bytesPerElement);
  if (bytes == std::vector{4, 4})
    touch32(at<uint32_t>(s[0], begin), at<uint32_t>(s[1], begin), n, zero);
  else if (bytes == std::vector{4, 4, 4})
    touch32x2(at<uint32_t>(s[0], begin), at<uint32_t>(s[1], begin), at<uint32_t>(s[2], begin), n,
              zero);
  else if (bytes == std::vector{4, 4, 4, 4})
    touch32x3(at<uint32_t>(s[0], begin), at<uint32_t>(s[1], begin), at<uint32_t>(s[2], begin),
              at<uint32_t>(s[3], begin), n, zero);
  else if (bytes == std::vector{2, 2, 4, 4})
    touchMixed(at<uint16_t>(s[0], begin), at<uint16_t>(s[1], begin), at<uint32_t>(s[2], begin),
               at<uint32_t>(s[3], begin), n, zero);
  else if (bytes == std::vector{2, 2, 2, 2})
    touch16x3(at<uint16_t>(s[0], begin), at<uint16_t>(s[1], begin), at<uint16_t>(s[2], begin),
              at<uint16_t>(s[3], begin), n, static_cast<uint16_t>(zero));
  else
    return false;
  return true;
}
} // namespace

bool updraft::bench::runLimitKernel(const std::vector<LimitStream> &streams, int64_t elements) {
  std::vector<LimitStream> ordered;
  auto isWritten = [](const LimitStream &stream) { return stream.written; };
  std::remove_copy_if(streams.begin(), streams.end(), std::back_inserter(ordered), isWritten);
  std::copy_if(streams.begin(), streams.end(), std::back_inserter(ordered), isWritten);
  if (ordered.empty() || ordered[0].written || (ordered.size() > 1 && !ordered[1].written))
    return false;
  uint32_t zero = opaqueZero;
  if (!touch(ordered, 0, 0, zero))
    return false;

  // The pool and the partition of a step: a share for each thread, whole leaves.
  struct Job {
    const std::vector<LimitStream> &streams;
    int64_t elements, share;
    uint32_t zero;
  };
  upd_pool pool = runtime::ThreadPool::processHandle();
  int32_t threads = pool.thread_count(pool.pool);
  Job job{ordered, elements, ((elements + threads - 1) / threads + 8191) / 8192 * 8192, zero};
  auto task = [](void *context, int32_t index) {
    const Job &job = *static_cast<Job *>(context);
    int64_t begin = std::min(index * job.share, job.elements);
    touch(job.streams, begin, std::min(job.share, job.elements - begin), job.zero);
  };
  pool.run(pool.pool, threads, task, &job);
  return true;
}
