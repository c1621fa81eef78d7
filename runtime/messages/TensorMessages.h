//===- TensorMessages.h - Tensors in messages ---------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_MESSAGES_TENSORMESSAGES_H
#define UPDRAFT_RUNTIME_MESSAGES_TENSORMESSAGES_H

#include "updraft-c/types.h"
#include "updraft/worker/v1/worker.pb.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::messages {

/// Tensors travel in chunks of this size, which is near the fastest over loopback.
constexpr size_t chunkBytes = size_t(1) << 20;

/// Nothing for a type that the other side doesn't know.
std::optional<worker::v1::DType> typeOf(upd_dtype dtype);
std::optional<upd_dtype> typeOf(worker::v1::DType dtype);

/// The type must be one that messages have.
worker::v1::TensorInfo infoOf(const std::string &name, upd_dtype dtype,
                              const std::vector<int64_t> &shape);
/// 0 for an unknown type. The shape must be one that memory can hold.
size_t bytesOf(const worker::v1::TensorInfo &info);

/// Calls `write` with the chunks of a tensor, without their data, and with the data. Stops and
/// returns false if it returns false.
template <typename Write>
bool splitIntoChunks(const worker::v1::TensorInfo &info, const char *data, size_t bytes,
                     const Write &write, size_t most = chunkBytes) {
  worker::v1::TensorChunk chunk;
  *chunk.mutable_tensor() = info;
  for (size_t sent = 0;;) {
    const size_t count = std::min(most, bytes - sent);
    if (!write(chunk, count == 0 ? std::string_view() : std::string_view(data + sent, count)))
      return false;
    sent += count;
    if (sent == bytes)
      return true;
    chunk.clear_tensor();
  }
}

/// The same with the data in the chunks.
template <typename Write>
bool writeChunks(const worker::v1::TensorInfo &info, const char *data, size_t bytes,
                 const Write &write, size_t most = chunkBytes) {
  const auto writeWhole = [&](worker::v1::TensorChunk &chunk, std::string_view part) {
    chunk.mutable_data()->assign(part);
    return write(chunk);
  };
  return splitIntoChunks(info, data, bytes, writeWhole, most);
}

} // namespace updraft::messages

#endif // UPDRAFT_RUNTIME_MESSAGES_TENSORMESSAGES_H
