//===- PlainStream.cpp - A stream of bytes over gRPC ------------------------------------------===//

#include "PlainStream.h"

#include "runtime/grpc/FreedMemory.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/method_handler.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <vector>

using namespace updraft;
using namespace updraft::bench;
using grpc::ByteBuffer;
using grpc::internal::RpcMethod;

static constexpr const char *method = "/updraft.bench.PlainStream/Send";

//===----------------------------------------------------------------------------------------===//
// TLS
//===----------------------------------------------------------------------------------------===//

std::string TLSFolder::read(const char *name) const {
  if (path.empty())
    return {};
  std::stringstream text;
  text << std::ifstream(file(name)).rdbuf();
  return text.str();
}

void updraft::bench::makeCertificates(const TLSFolder &folder) {
  const std::string command = fmt::format(
      "cd '{}' && exec 2>openssl.log && "
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority "
      "-keyout ca.key -out ca.pem && "
      "openssl req -newkey rsa:2048 -nodes -subj /CN=bench -keyout key.pem -out cert.csr && "
      "echo subjectAltName=IP:127.0.0.1 > names && "
      "openssl x509 -req -days 2 -in cert.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
      "-extfile names -out cert.pem",
      folder.path);
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("openssl can't make certificates; is it installed?");
}

static std::shared_ptr<grpc::ServerCredentials> serverCredentials(const TLSFolder &tls) {
  if (tls.path.empty())
    return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls.read("ca.pem");
  options.pem_key_cert_pairs.push_back({tls.read("key.pem"), tls.read("cert.pem")});
  return grpc::SslServerCredentials(options);
}

static std::shared_ptr<grpc::ChannelCredentials> channelCredentials(const TLSFolder &tls) {
  if (tls.path.empty())
    return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({tls.read("ca.pem"), tls.read("key.pem"), tls.read("cert.pem")});
}

//===----------------------------------------------------------------------------------------===//
// The receiver
//===----------------------------------------------------------------------------------------===//

namespace {
class Receiver final : public grpc::Service {
public:
  explicit Receiver(size_t bytes) : memory(bytes, 1) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        method, RpcMethod::CLIENT_STREAMING,
        new grpc::internal::ClientStreamingHandler<Receiver, ByteBuffer, ByteBuffer>(
            [](Receiver *self, grpc::ServerContext *, grpc::ServerReader<ByteBuffer> *messages,
               ByteBuffer *answer) { return self->receive(*messages, *answer); },
            this)));
  }

private:
  grpc::Status receive(grpc::ServerReader<ByteBuffer> &messages, ByteBuffer &answer) {
    const std::lock_guard guard(mutex);
    size_t received = 0;
    ByteBuffer message;
    std::vector<grpc::Slice> slices;
    while (messages.Read(&message)) {
      slices.clear();
      if (message.Length() > memory.size() - received || !message.Dump(&slices).ok())
        return {grpc::StatusCode::INVALID_ARGUMENT, "the stream is too long"};
      for (const grpc::Slice &slice : slices) {
        std::memcpy(memory.data() + received, slice.begin(), slice.size());
        received += slice.size();
      }
    }
    const grpc::Slice empty;
    answer = ByteBuffer(&empty, 1);
    return grpc::Status::OK;
  }

  std::mutex mutex;
  std::vector<char> memory; // touched, because it is filled
};
} // namespace

int updraft::bench::plainStreamServer(size_t bytes, const TLSFolder &tls) {
  worker::keepFreedMemory(); // as the worker does
  Receiver receiver(bytes);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", serverCredentials(tls), &port);
  builder.RegisterService(&receiver);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server)
    return 1;
  fmt::print("listening on 127.0.0.1:{}\n", port);
  std::fflush(stdout);
  server->Wait(); // until SIGTERM ends the process
  return 0;
}

//===----------------------------------------------------------------------------------------===//
// The sender
//===----------------------------------------------------------------------------------------===//

struct PlainStream::Connection {
  std::shared_ptr<grpc::Channel> channel;
  const RpcMethod call;
};

PlainStream::PlainStream(const std::string &address, const TLSFolder &tls) {
  auto channel = grpc::CreateChannel(address, channelCredentials(tls));
  connection.reset(
      new Connection{channel, RpcMethod(method, RpcMethod::CLIENT_STREAMING, channel)});
}

PlainStream::~PlainStream() = default;

void PlainStream::send(const char *data, size_t bytes, size_t chunkBytes) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  ByteBuffer answer;
  const std::unique_ptr<grpc::ClientWriter<ByteBuffer>> writer(
      grpc::internal::ClientWriterFactory<ByteBuffer>::Create(connection->channel.get(),
                                                              connection->call, &context, &answer));
  for (size_t sent = 0; sent < bytes;) {
    const size_t count = std::min(chunkBytes, bytes - sent);
    const grpc::Slice slice(data + sent, count); // a copy, since gRPC sends when it can
    if (!writer->Write(ByteBuffer(&slice, 1)))
      break; // Finish says why
    sent += count;
  }
  writer->WritesDone();
  if (const grpc::Status status = writer->Finish(); !status.ok())
    throw std::runtime_error("the plain stream failed: " + status.error_message());
}
