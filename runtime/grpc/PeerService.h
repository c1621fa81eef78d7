//===- PeerService.h - Steps of several workers over gRPC ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_PEERSERVICE_H
#define UPDRAFT_RUNTIME_GRPC_PEERSERVICE_H

#include "runtime/grpc/Access.h"
#include "runtime/server/Server.h"
#include "updraft/worker/v1/worker.grpc.pb.h"

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace updraft::worker {

/// How a worker reaches others.
struct PeerOptions {
  uint64_t epoch = 0;                      ///< its own
  std::chrono::milliseconds timeout{5000}; ///< of a call
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string token; ///< sent with each call, unless it is empty
  /// The addresses that clients may name. Without them, any may be named.
  std::optional<std::set<std::string>> allowed;
};

/// Connections to other workers, by their addresses. A failed call throws Unavailable. An address
/// that isn't allowed throws FailedPrecondition.
class PeerChannels final : public server::Peers {
public:
  explicit PeerChannels(PeerOptions options) : options(std::move(options)) {}

  uint64_t epoch() const { return options.epoch; }
  /// Whether the worker at an address has this epoch.
  bool isAt(const std::string &worker, uint64_t epoch);

  bool isSelf(const std::string &worker) override { return isAt(worker, options.epoch); }
  int64_t prepare(const std::string &worker, const server::Transaction &transaction) override;
  void decide(const std::string &worker, const server::Decision &decision) override;
  server::Outcome outcome(const std::string &worker, const server::RequestKey &request,
                          uint64_t attempt) override;

private:
  v1::Peer::Stub &stub(const std::string &worker);
  void call(const std::function<grpc::Status(grpc::ClientContext &)> &method);

  const PeerOptions options;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<v1::Peer::Stub>> stubs;
  std::map<std::string, uint64_t> epochs; ///< of workers, when they were asked last
};

/// Carries out the requests of other workers. Thread-safe. The references outlive it.
class PeerService final : public v1::Peer::Service {
public:
  PeerService(server::Server &server, PeerChannels &peers, const Access &access)
      : server(server), peers(peers), access(access) {}

private:
  grpc::Status Prepare(grpc::ServerContext *context, const v1::PrepareRequest *request,
                       v1::PrepareResponse *response) override;
  grpc::Status Decide(grpc::ServerContext *context, const v1::DecideRequest *request,
                      v1::DecideResponse *response) override;
  grpc::Status GetOutcome(grpc::ServerContext *context, const v1::GetOutcomeRequest *request,
                          v1::GetOutcomeResponse *response) override;

  grpc::Status Identify(grpc::ServerContext *context, const v1::IdentifyRequest *request,
                        v1::IdentifyResponse *response) override;

  server::Server &server;
  PeerChannels &peers;
  const Access &access;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_PEERSERVICE_H
