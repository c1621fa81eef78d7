//===- TensorWriter.h - Streams tensors to a worker ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CLIENT_TENSORWRITER_H
#define UPDRAFT_RUNTIME_CLIENT_TENSORWRITER_H

#include "updraft/worker/v1/worker.pb.h"

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/sync_stream.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace updraft::dist {

namespace proto = worker::v1;

/// Memory of messages that gRPC has sent, for others. New pages for each message would take longer
/// than copying it. Thread-safe.
class MessageMemory : public std::enable_shared_from_this<MessageMemory> {
public:
  /// A slice of this size, and where to write it.
  grpc::Slice take(size_t bytes, char *&data);

private:
  struct Block {
    std::shared_ptr<MessageMemory> owner; ///< null while it is free
    std::unique_ptr<char[]> data;
    size_t capacity = 0;
  };
  static void giveBack(void *block);

  std::mutex mutex;
  std::vector<std::unique_ptr<Block>> free;
};

/// A stream of requests of which some have a TensorChunk. A request of protobuf would copy the
/// chunk's data twice, this copies them once.
class TensorWriter {
public:
  /// `method` is the full name: "/updraft.worker.v1.Worker/PushGradients". The arguments outlive
  /// it.
  template <typename Response>
  TensorWriter(grpc::Channel &channel, const char *method, grpc::ClientContext &context,
               Response &response, MessageMemory &memory)
      : memory(memory),
        writer(grpc::internal::ClientWriterFactory<grpc::ByteBuffer>::Create(
            &channel,
            grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::CLIENT_STREAMING),
            &context, &response)) {}

  /// Both return false if the stream has ended; `finish` then says why.
  bool write(const google::protobuf::MessageLite &request);
  /// Writes a request together with a chunk, which is its field `chunkField` and has this data.
  bool write(const google::protobuf::MessageLite &request, int chunkField,
             const proto::TensorChunk &chunk, std::string_view data);
  grpc::Status finish();

private:
  MessageMemory &memory;
  std::unique_ptr<grpc::ClientWriter<grpc::ByteBuffer>> writer;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_CLIENT_TENSORWRITER_H
