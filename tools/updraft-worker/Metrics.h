//===- Metrics.h - A worker's metrics for Prometheus --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_METRICS_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_METRICS_H

#include "runtime/server/Server.h"

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <string>

namespace updraft::worker {

/// Counts requests. docs/parameter-server-operation.md lists the metrics. Thread-safe.
class Metrics {
public:
  Metrics();

  /// Serves metrics over HTTP until it is destroyed.
  struct Serving {
    std::shared_ptr<prometheus::Collectable> statistics;
    std::unique_ptr<prometheus::Exposer> exposer;
  };
  /// At an address such as "127.0.0.1:9090". Throws std::exception if it can't listen there.
  /// `server` must outlive the result.
  Serving serve(const std::string &address, const server::Server &server) const;

  void countRequest(const std::string &method, int code, double seconds);
  void countSnapshot(bool isWritten, double seconds);
  void countFailedHandshake() { handshakes.Increment(); }

  /// For grpc::ServerBuilder: counts each request but those of Step. The observer of the StepServer
  /// counts these: with an interceptor, gRPC would send each of them through the completion queue
  /// twice.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> interceptors();

private:
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  prometheus::Family<prometheus::Counter> &requests;
  prometheus::Family<prometheus::Histogram> &times;
  prometheus::Family<prometheus::Counter> &snapshots;
  prometheus::Histogram &snapshotTimes;
  prometheus::Counter &handshakes;
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_METRICS_H
