//===- HealthService.h - gRPC's standard health checks ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_HEALTHSERVICE_H
#define UPDRAFT_RUNTIME_GRPC_HEALTHSERVICE_H

#include "grpc/health/v1/health.grpc.pb.h"

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace updraft::worker {

/// Tells whether the worker serves: from its creation until `stopServing`. gRPC has such a service,
/// too. The threads that carry it out take all other calls first, and then wake the threads of
/// those. Thread-safe.
class HealthService final : public grpc::health::v1::Health::Service {
public:
  /// Each watcher has a thread. Others are told that the worker has no Watch, and then take it for
  /// healthy.
  static constexpr size_t mostWatchers = 64;

  /// Tells the watchers, and ends their calls.
  void stopServing();

private:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;

  grpc::Status Check(grpc::ServerContext *context, const Request *request,
                     Response *response) override;
  grpc::Status Watch(grpc::ServerContext *context, const Request *request,
                     grpc::ServerWriter<Response> *responses) override;

  std::mutex mutex; ///< guards what follows
  std::condition_variable stopped;
  bool isServing = true;
  size_t watchers = 0;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_HEALTHSERVICE_H
