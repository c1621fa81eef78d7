//===- LimitKernel.h - The time that memory traffic takes ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_LIMITKERNEL_H
#define UPDRAFT_TOOLS_BENCH_LIMITKERNEL_H

#include <cstdint>
#include <vector>

namespace updraft::bench {

/// A tensor that a sweep reads entirely, and may write in place.
struct LimitStream {
  void *data;
  int bytesPerElement; // 1, 2, 4 or 8
  bool written;
};

/// Reads and writes the streams in place with almost no arithmetic, on as many threads as a step
/// uses. Doesn't change any value.
void runLimitKernel(const std::vector<LimitStream> &streams, int64_t elements);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_LIMITKERNEL_H
