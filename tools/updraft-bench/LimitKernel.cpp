//===- LimitKernel.cpp - The time that memory traffic takes -----------------------------------===//
// Loops over the streams of a step with prefetching. The loops combine the written streams with the
// read-only streams under a mask that is zero at run time. So the compiler can't remove a load or
// store, and no value changes.

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

/// Consumes the values of read-only streams, so that the loads aren't removed.
thread_local volatile uint32_t sink;

/// The number of elements per iteration, and the prefetch distance in elements.
constexpr int64_t lanes = 16, distance = 512;

template <typename T>
using Lanes = T __attribute__((vector_size(lanes * sizeof(T)), aligned(sizeof(T)), may_alias));

template <typename T> Lanes<T> &lanesAt(T *stream, int64_t element) {
  return *reinterpret_cast<Lanes<T> *>(stream + element);
}

template <typename T> const Lanes<T> &lanesAt(const T *stream, int64_t element) {
  return *reinterpret_cast<const Lanes<T> *>(stream + element);
}

template <typename T> void prefetch(const T *stream, int64_t element) {
  __builtin_prefetch(stream + element + distance);
}

/// Read-only streams of f32.
template <size_t... R>
[[gnu::always_inline]] inline void readEach(const LimitStream *streams, int64_t begin, int64_t n,
                                            std::index_sequence<R...>) {
  const uint32_t *const read[] = {at<uint32_t>(streams[R], begin)...};
  Lanes<uint32_t> all{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    (prefetch(read[R], i), ...);
    all ^= (lanesAt(read[R], i) ^ ...);
  }
  uint32_t x = 0;
  for (int64_t lane = 0; lane < lanes; ++lane)
    x ^= all[lane];
  for (; i < n; ++i)
    x ^= (read[R][i] ^ ...);
  sink = x;
}

/// The body of a kernel over streams of one type: first the read-only streams, then the written
/// ones.
template <typename T, size_t... R, size_t... W>
[[gnu::always_inline]] inline void touchEach(const LimitStream *streams, int64_t begin, int64_t n,
                                             T zero, std::index_sequence<R...>,
                                             std::index_sequence<W...>) {
  const T *const read[] = {at<T>(streams[R], begin)...};
  T *const written[] = {at<T>(streams[sizeof...(R) + W], begin)...};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    (prefetch(read[R], i), ...);
    (prefetch(written[W], i), ...);
    const Lanes<T> x = (lanesAt(read[R], i) ^ ...) & zero;
    ((lanesAt(written[W], i) ^= x), ...);
  }
  for (; i < n; ++i) {
    const T x = static_cast<T>((read[R][i] ^ ...) & zero);
    ((written[W][i] = static_cast<T>(written[W][i] ^ x)), ...);
  }
}

using Touch = void (*)(const LimitStream *streams, int64_t begin, int64_t n, uint32_t zero);

#define UPDRAFT_READ(read)                                                                         \
  UPDRAFT_CLONES void touch##read##x0(const LimitStream *streams, int64_t begin, int64_t n,        \
                                      uint32_t) {                                                  \
    readEach(streams, begin, n, std::make_index_sequence<read>());                                 \
  }
UPDRAFT_READ(1)
UPDRAFT_READ(2)
UPDRAFT_READ(3)
UPDRAFT_READ(4)

#define UPDRAFT_TOUCH(read, written)                                                               \
  UPDRAFT_CLONES void touch##read##x##written(const LimitStream *streams, int64_t begin,           \
                                              int64_t n, uint32_t zero) {                          \
    touchEach<uint32_t>(streams, begin, n, zero, std::make_index_sequence<read>(),                 \
                        std::make_index_sequence<written>());                                      \
  }
UPDRAFT_TOUCH(1, 1)
UPDRAFT_TOUCH(1, 2)
UPDRAFT_TOUCH(1, 3)
UPDRAFT_TOUCH(1, 4)
UPDRAFT_TOUCH(1, 5)
UPDRAFT_TOUCH(2, 1)
UPDRAFT_TOUCH(2, 2)
UPDRAFT_TOUCH(2, 3)

/// Kernels by the number of read-only streams (from 1) and of written streams.
constexpr Touch touches[4][6] = {{touch1x0, touch1x1, touch1x2, touch1x3, touch1x4, touch1x5},
                                 {touch2x0, touch2x1, touch2x2, touch2x3},
                                 {touch3x0},
                                 {touch4x0}};

/// One stream, of any type.
template <typename T>
[[gnu::always_inline]] inline void touchOne(const LimitStream &stream, int64_t begin, int64_t n,
                                            uint32_t zero) {
  T *data = at<T>(stream, begin);
  T x = 0;
  if (stream.written)
    for (int64_t i = 0; i < n; ++i)
      data[i] = static_cast<T>(data[i] ^ zero);
  else
    for (int64_t i = 0; i < n; ++i)
      x = static_cast<T>(x ^ data[i]);
  sink = static_cast<uint32_t>(x);
}

/// The fallback for all other combinations: one stream after another, in pieces that fit in the L1
/// cache.
UPDRAFT_CLONES void touchPieces(const LimitStream *streams, size_t count, int64_t begin, int64_t n,
                                uint32_t zero) {
  constexpr int64_t piece = 1024;
  for (int64_t done = 0; done < n; done += piece)
    for (size_t i = 0; i < count; ++i) {
      const int64_t length = std::min(piece, n - done);
      switch (streams[i].bytesPerElement) {
      case 1:
        touchOne<uint8_t>(streams[i], begin + done, length, zero);
        break;
      case 2:
        touchOne<uint16_t>(streams[i], begin + done, length, zero);
        break;
      case 4:
        touchOne<uint32_t>(streams[i], begin + done, length, zero);
        break;
      default:
        touchOne<uint64_t>(streams[i], begin + done, length, zero);
      }
    }
}

/// A bf16 gradient and parameter, and two f32 states.
UPDRAFT_CLONES void touchMixed(const LimitStream *streams, int64_t begin, int64_t n,
                               uint32_t zero) {
  const uint16_t *const g = at<uint16_t>(streams[0], begin);
  uint16_t *const p = at<uint16_t>(streams[1], begin);
  uint32_t *const a = at<uint32_t>(streams[2], begin), *const b = at<uint32_t>(streams[3], begin);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    prefetch(g, i), prefetch(p, i), prefetch(a, i), prefetch(b, i);
    const Lanes<uint16_t> x = lanesAt(g, i) & static_cast<uint16_t>(zero);
    const auto y = __builtin_convertvector(x, Lanes<uint32_t>);
    lanesAt(p, i) ^= x;
    lanesAt(a, i) ^= y;
    lanesAt(b, i) ^= y;
  }
  for (; i < n; ++i) {
    const uint32_t x = g[i] & zero;
    p[i] = static_cast<uint16_t>(p[i] ^ x);
    a[i] ^= x;
    b[i] ^= x;
  }
}

UPDRAFT_CLONES void touch16x3(const LimitStream *streams, int64_t begin, int64_t n, uint32_t zero) {
  touchEach<uint16_t>(streams, begin, n, static_cast<uint16_t>(zero), std::make_index_sequence<1>(),
                      std::make_index_sequence<3>());
}

/// Read-only streams come first.
void touch(const std::vector<LimitStream> &s, int64_t begin, int64_t n, uint32_t zero) {
  std::vector<int> bytes;
  size_t read = 0;
  for (const LimitStream &stream : s) {
    bytes.push_back(stream.bytesPerElement);
    read += !stream.written;
  }
  const size_t written = s.size() - read;
  if (std::count(bytes.begin(), bytes.end(), 4) == static_cast<int64_t>(bytes.size()) &&
      read >= 1 && read <= std::size(touches) && written < std::size(touches[0]))
    if (Touch kernel = touches[read - 1][written])
      return kernel(s.data(), begin, n, zero);
  if (read == 1 && bytes == std::vector{2, 2, 4, 4})
    touchMixed(s.data(), begin, n, zero);
  else if (read == 1 && bytes == std::vector{2, 2, 2, 2})
    touch16x3(s.data(), begin, n, zero);
  else
    touchPieces(s.data(), s.size(), begin, n, zero);
}
} // namespace

void updraft::bench::runLimitKernel(const std::vector<LimitStream> &streams, int64_t elements) {
  std::vector<LimitStream> ordered;
  auto isWritten = [](const LimitStream &stream) { return stream.written; };
  std::remove_copy_if(streams.begin(), streams.end(), std::back_inserter(ordered), isWritten);
  std::copy_if(streams.begin(), streams.end(), std::back_inserter(ordered), isWritten);
  uint32_t zero = opaqueZero;

  // Uses the pool and the partition of a step: a share of whole leaves per thread.
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
}
