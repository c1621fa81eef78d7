//===- LimitKernel.cpp - What moving the bytes costs ------------------------------------------===//
// Plain loops over the streams of a step, vectorised by the compiler. The written streams are
// combined with those that are only read under a mask that is zero at run time, so that neither
// load nor store can be left out and no value changes.

#include "LimitKernel.h"

#include "runtime/cpu/ThreadPool.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace updraft::bench;

namespace {
volatile uint32_t opaqueZero = 0;

#if defined(__x86_64__)
#define UPDRAFT_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define UPDRAFT_CLONES
#endif

template <typename T> T *at(const LimitStream &stream, int64_t element) {
  return static_cast<T *>(stream.data) + element;
}

/// The body of a kernel over f32 streams: those only read, then the written ones.
template <size_t... R, size_t... W>
[[gnu::always_inline]] inline void touchEach(const LimitStream *streams, int64_t begin, int64_t n,
                                             uint32_t zero, std::index_sequence<R...>,
                                             std::index_sequence<W...>) {
  const uint32_t *const read[] = {at<uint32_t>(streams[R], begin)...};
  uint32_t *const written[] = {at<uint32_t>(streams[sizeof...(R) + W], begin)...};
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < n; ++i) {
    uint32_t x = (read[R][i] ^ ...) & zero;
    ((written[W][i] ^= x), ...);
  }
}

using Touch = void (*)(const LimitStream *streams, int64_t begin, int64_t n, uint32_t zero);

#define UPDRAFT_TOUCH(read, written)                                                               \
  UPDRAFT_CLONES void touch##read##x##written(const LimitStream *streams, int64_t begin,           \
                                              int64_t n, uint32_t zero) {                          \
    touchEach(streams, begin, n, zero, std::make_index_sequence<read>(),                           \
              std::make_index_sequence<written>());                                                \
  }
UPDRAFT_TOUCH(1, 1)
UPDRAFT_TOUCH(1, 2)
UPDRAFT_TOUCH(1, 3)
UPDRAFT_TOUCH(1, 4)
UPDRAFT_TOUCH(1, 5)
UPDRAFT_TOUCH(2, 2)

/// By the number of streams that are only read, from 1, and written, from 1.
constexpr Touch touches[2][5] = {{touch1x1, touch1x2, touch1x3, touch1x4, touch1x5},
                                 {nullptr, touch2x2, nullptr, nullptr, nullptr}};

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

/// The streams that are only read first.
bool touch(const std::vector<LimitStream> &s, int64_t begin, int64_t n, uint32_t zero) {
  std::vector<int> bytes;
  size_t read = 0;
  for (const LimitStream &stream : s) {
    bytes.push_back(stream.bytesPerElement);
    read += !stream.written;
  }
  const size_t written = s.size() - read;
  if (std::count(bytes.begin(), bytes.end(), 4) == static_cast<int64_t>(bytes.size())) {
    const bool known =
        read >= 1 && read <= std::size(touches) && written >= 1 && written <= std::size(touches[0]);
    Touch kernel = known ? touches[read - 1][written - 1] : nullptr;
    if (!kernel)
      return false;
    kernel(s.data(), begin, n, zero);
    return true;
  }
  if (read != 1)
    return false;
  if (bytes == std::vector{2, 2, 4, 4})
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
