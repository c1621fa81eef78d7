//===- Listening.cpp - Where a worker listens -------------------------------------------------===//

#include "Listening.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <fmt/format.h>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace updraft::worker;

bool updraft::worker::isLoopback(const std::string &address) {
  for (const char *prefix : {"127.", "localhost:", "[::1]:", "unix:"})
    if (address.starts_with(prefix))
      return true;
  return false;
}

Listener::Listener(const std::string &address, std::shared_ptr<grpc::ServerCredentials> credentials,
                   WorkerService &service, PeerService &peers, Metrics &metrics,
                   size_t largestMessage) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, std::move(credentials), &chosenPort);
  builder.SetMaxReceiveMessageSize(static_cast<int>(largestMessage));
  // Otherwise a second worker could listen on the same port, and get some of the requests.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(&service);
  builder.RegisterService(&peers);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(metrics.interceptors());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server = builder.BuildAndStart();
  if (!server)
    throw std::runtime_error(fmt::format(
        "cannot listen on `{}`; is the address one of this machine, and the port free?", address));
}

void Listener::drain(std::chrono::seconds patience) {
  if (auto *health = server->GetHealthCheckService())
    health->SetServingStatus(false);
  server->Shutdown(std::chrono::system_clock::now() + patience);
  server->Wait();
}
