//===- TensorStream.h - Tensors in chunks -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_TENSORSTREAM_H
#define UPDRAFT_RUNTIME_GRPC_TENSORSTREAM_H

#include "runtime/server/Tensor.h"
#include "updraft/worker/v1/worker.pb.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft::worker {

/// Puts tensors together from their chunks. Throws server::Refusal.
class TensorReader {
public:
  using Taken = std::function<void(const std::string &name, server::Tensor tensor)>;

  /// `taken` is called for each tensor once it is complete.
  TensorReader(server::Budget &budget, Taken taken) : budget(budget), taken(std::move(taken)) {}

  /// `data` are the parts of the chunk's data.
  void read(const v1::TensorChunk &chunk, const std::vector<std::string_view> &data);
  /// Throws if the last tensor is incomplete.
  void finish() const;

private:
  void start(const v1::TensorInfo &info);

  server::Budget &budget;
  Taken taken;
  bool isWithin = false; ///< a tensor
  std::string name;
  server::Tensor tensor;
  size_t received = 0;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_TENSORSTREAM_H
