//===- LimitLibrary.cpp - The limit kernel for Python's ctypes --------------------------------===//
// The library that torch_peer.py loads, to run the limit kernel on the tensors of torch.

#include "LimitKernel.h"

using namespace updraft::bench;

/// Runs the limit kernel over `count` streams of `elements` elements each.
extern "C" __attribute__((visibility("default"))) void
updraft_bench_limit(void *const *data, const int32_t *bytesPerElement, const int32_t *written,
                    int32_t count, int64_t elements) {
  std::vector<LimitStream> streams;
  for (int32_t i = 0; i < count; ++i)
    streams.push_back({data[i], bytesPerElement[i], written[i] != 0});
  runLimitKernel(streams, elements);
}
