//===- LimitKernel.h - What moving the bytes costs ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_LIMITKERNEL_H
#define UPDRAFT_TOOLS_BENCH_LIMITKERNEL_H

#include <cstdint>
#include <vector>

namespace updraft::bench {

/// A tensor that a pass reads in full, and may write in place.
struct LimitStream {
  void *data;
  int bytesPerElement; // 1, 2, 4 or 8
  bool written;
};

/// Reads and writes the streams in place, with next to no arithmetic and without changing a value,
/// on as many threads as a step uses.
void runLimitKernel(const std::vector<LimitStream> &streams, int64_t elements);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_LIMITKERNEL_H
