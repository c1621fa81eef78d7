//===- RunningWorker.h - A parameter server in the test's process -------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_WORKER_RUNNINGWORKER_H
#define UPDRAFT_UNITTESTS_WORKER_RUNNINGWORKER_H

#include "Requests.h"
#include "runtime/grpc/PeerService.h"
#include "runtime/grpc/StepServer.h"
#include "runtime/grpc/WorkerService.h"
#include "tools/updraft-worker/RuleSource.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <optional>
#include <string>

namespace updraft::worker {

using server::textOfRule;

/// Listens on a free port, or on the given one. Clients need to renew their leases every second,
/// unless `lease` is longer.
struct RunningWorker {
  explicit RunningWorker(uint64_t epoch = 7, store::Store *store = nullptr, int port = 0,
                         std::chrono::seconds lease = std::chrono::seconds(1))
      : server(limits(lease), packSource, std::chrono::steady_clock::now,
               store ? server::Durability::Step : server::Durability::None, store),
        peers({epoch, std::chrono::seconds(5), grpc::InsecureChannelCredentials(), "", {}}),
        peerService(server, peers, everyone),
        service(server, peers, everyone, {"updraft-worker test", epoch, 4 << 20}) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&peerService);
    listening.emplace(builder, service, "127.0.0.1:" + std::to_string(port),
                      grpc::InsecureServerCredentials());
  }

  int port() const { return listening->port(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

  static server::Limits limits(std::chrono::seconds lease = std::chrono::seconds(1)) {
    server::Limits result;
    result.clients.lease = lease;
    return result;
  }

  server::Server server;
  Everyone everyone;
  PeerChannels peers;
  PeerService peerService;
  WorkerService service;
  std::optional<StepServer> listening;
};

} // namespace updraft::worker

#endif // UPDRAFT_UNITTESTS_WORKER_RUNNINGWORKER_H
