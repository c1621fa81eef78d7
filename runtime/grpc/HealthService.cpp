//===- HealthService.cpp - gRPC's standard health checks --------------------------------------===//

#include "runtime/grpc/HealthService.h"

#include "updraft/worker/v1/worker.grpc.pb.h"

#include <grpcpp/server_context.h>

#include <chrono>
#include <string>

using namespace updraft;
using worker::HealthService;

/// How long the thread of a watcher that has gone may stay.
static constexpr std::chrono::seconds patience(1);

/// Whether a request names the whole server, or a service of it.
static bool isKnown(const std::string &service) {
  return service.empty() || service == worker::v1::Worker::service_full_name() ||
         service == worker::v1::Peer::service_full_name();
}

void HealthService::stopServing() {
  {
    const std::lock_guard guard(mutex);
    isServing = false;
  }
  stopped.notify_all();
}

grpc::Status HealthService::Check(grpc::ServerContext *, const Request *request,
                                  Response *response) {
  if (!isKnown(request->service()))
    return {grpc::StatusCode::NOT_FOUND, "the worker doesn't have this service"};
  const std::lock_guard guard(mutex);
  response->set_status(isServing ? Response::SERVING : Response::NOT_SERVING);
  return grpc::Status::OK;
}

grpc::Status HealthService::Watch(grpc::ServerContext *context, const Request *request,
                                  grpc::ServerWriter<Response> *responses) {
  const auto send = [&](Response::ServingStatus status) {
    Response response;
    response.set_status(status);
    responses->Write(response);
  };
  std::unique_lock lock(mutex);
  if (watchers == mostWatchers)
    return {grpc::StatusCode::UNIMPLEMENTED, "the worker doesn't accept another watcher"};
  ++watchers;
  if (isServing) {
    lock.unlock();
    send(isKnown(request->service()) ? Response::SERVING : Response::SERVICE_UNKNOWN);
    lock.lock();
    while (isServing && !context->IsCancelled())
      stopped.wait_for(lock, patience);
  }
  --watchers;
  if (isServing)
    return grpc::Status::CANCELLED;
  lock.unlock();
  if (isKnown(request->service()))
    send(Response::NOT_SERVING);
  return {grpc::StatusCode::UNAVAILABLE, "the worker is ending"};
}
