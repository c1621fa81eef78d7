//===- Listening.cpp - Where a worker listens -------------------------------------------------===//

#include "Listening.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <arpa/inet.h>
#include <utility>
#include <vector>

using namespace updraft::worker;

bool updraft::worker::isLoopback(const std::string &address) {
  for (const char *prefix : {"localhost:", "[::1]:", "unix:"})
    if (address.starts_with(prefix))
      return true;
  in_addr parsed{};
  const std::string host = address.substr(0, address.rfind(':'));
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1 && host.starts_with("127.");
}

Listener::Listener(const std::string &address, std::shared_ptr<grpc::ServerCredentials> credentials,
                   WorkerService &service, PeerService &peers, Metrics &metrics,
                   size_t largestMessage) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(largestMessage));
  // Otherwise a second worker could listen on the same port, and get some of the requests.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A client whose machine has died doesn't end its streams.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 256);
  // With the default, one or two threads wait for requests; others are made and ended as requests
  // come.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 2);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 2);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 8);
  builder.RegisterService(&peers);
  builder.RegisterService(&health);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(metrics.interceptors());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server.emplace(builder, service, address, std::move(credentials));
}

void Listener::drain(std::chrono::seconds patience) {
  health.stopServing();
  server->shutDown(std::chrono::system_clock::now() + patience);
}
