//===- Listening.cpp - Where a worker listens -------------------------------------------------===//

#include "Listening.h"

#include "runtime/server/Refusal.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <arpa/inet.h>
#include <string_view>
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

namespace {

/// Cancels calls without credentials of gRPC's reflection, whose handler doesn't ask for them. Each
/// of its streams takes a thread.
class ReflectionGuard : public grpc::experimental::Interceptor {
public:
  ReflectionGuard(const Access &access, grpc::ServerContextBase *context)
      : access(access), context(static_cast<grpc::ServerContext *>(context)) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods *methods) override {
    using grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      try {
        access.require(*context, Role::Reader, {});
      } catch (const updraft::server::Refusal &) {
        context->TryCancel();
      }
    }
    methods->Proceed();
  }

private:
  const Access &access;
  grpc::ServerContext *const context;
};

class ReflectionGuards : public grpc::experimental::ServerInterceptorFactoryInterface {
public:
  explicit ReflectionGuards(const Access &access) : access(access) {}
  grpc::experimental::Interceptor *
  CreateServerInterceptor(grpc::experimental::ServerRpcInfo *info) override {
    const bool isReflection = std::string_view(info->method()).starts_with("/grpc.reflection.");
    return isReflection ? new ReflectionGuard(access, info->server_context()) : nullptr;
  }

private:
  const Access &access;
};

/// Of gRPC's, each of which carries out a request.
constexpr int mostThreads = 1000;

} // namespace

Listener::Listener(const std::string &address, std::shared_ptr<grpc::ServerCredentials> credentials,
                   WorkerService &service, PeerService &peers, Metrics &metrics,
                   const Access &access, size_t largestMessage) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Otherwise gRPC would inflate a small message to any length before the length is checked.
  for (grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(mostThreads);
  builder.SetResourceQuota(quota);
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
  interceptors.push_back(std::make_unique<ReflectionGuards>(access));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server.emplace(builder, service, address, std::move(credentials),
                 [&metrics](grpc::StatusCode code, double seconds) {
                   metrics.countRequest("Step", code, seconds);
                 });
}

void Listener::drain(std::chrono::seconds patience) {
  health.stopServing();
  server->shutDown(std::chrono::system_clock::now() + patience);
}
