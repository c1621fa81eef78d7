//===- SlicedMessage.h - A message whose tensor stays where it was received ---------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_SLICEDMESSAGE_H
#define UPDRAFT_RUNTIME_GRPC_SLICEDMESSAGE_H

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace updraft::worker {

/// Parses a message that has a TensorChunk, but leaves the chunk's data in gRPC's memory. A message
/// of protobuf would copy the data into a string.
class SlicedMessage {
public:
  /// `chunkField` is the number of the chunk's field. Sets all of `message` but the data. Returns
  /// false if the bytes aren't such a message.
  bool parse(const grpc::ByteBuffer &bytes, int chunkField, google::protobuf::MessageLite &message);
  /// The data, in parts. Valid until the next call.
  const std::vector<std::string_view> &data() const { return parts; }

private:
  void locate(size_t offset, size_t bytes);

  std::vector<grpc::Slice> slices;
  std::vector<std::string_view> parts;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_SLICEDMESSAGE_H
