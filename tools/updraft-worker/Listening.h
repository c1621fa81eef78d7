//===- Listening.h - Where a worker listens -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_LISTENING_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_LISTENING_H

#include "Metrics.h"
#include "runtime/grpc/Access.h"
#include "runtime/grpc/HealthService.h"
#include "runtime/grpc/PeerService.h"
#include "runtime/grpc/StepServer.h"
#include "runtime/grpc/WorkerService.h"

#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace updraft::worker {

/// Whether only this machine can reach an address: "127.0.0.1:7070", "[::1]:0",
/// "unix:/run/updraft.sock".
bool isLoopback(const std::string &address);

/// A running gRPC server with health checks and reflection.
class Listener {
public:
  /// `access` outlives this. Throws std::runtime_error if it cannot listen there.
  Listener(const std::string &address, std::shared_ptr<grpc::ServerCredentials> credentials,
           WorkerService &service, PeerService &peers, Metrics &metrics, const Access &access,
           size_t largestMessage);

  /// The port; another than that of the address if that is 0.
  int port() const { return server->port(); }

  /// Fails health checks, refuses new requests, and waits for those under way, which are cancelled
  /// after `patience`.
  void drain(std::chrono::seconds patience);

private:
  HealthService health;
  std::optional<StepServer> server;
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_LISTENING_H
