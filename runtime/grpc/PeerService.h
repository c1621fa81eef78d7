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
#include <string>
#include <utility>

namespace updraft::worker {

/// Carries out the requests of other workers. Thread-safe. The references outlive it.
class PeerService final : public v1::Peer::Service {
public:
  PeerService(server::Server &server, const Access &access) : server(server), access(access) {}

private:
  grpc::Status Prepare(grpc::ServerContext *context, const v1::PrepareRequest *request,
                       v1::PrepareResponse *response) override;
  grpc::Status Decide(grpc::ServerContext *context, const v1::DecideRequest *request,
                      v1::DecideResponse *response) override;
  grpc::Status GetOutcome(grpc::ServerContext *context, const v1::GetOutcomeRequest *request,
                          v1::GetOutcomeResponse *response) override;

  server::Server &server;
  const Access &access;
};

/// Connections to other workers, by their addresses. A failed call throws Unavailable.
class PeerChannels final : public server::Peers {
public:
  /// `timeout` is that of a call. A token is sent with each, unless it is empty.
  PeerChannels(std::chrono::milliseconds timeout,
               std::shared_ptr<grpc::ChannelCredentials> credentials, std::string token = "")
      : timeout(timeout), credentials(std::move(credentials)), token(std::move(token)) {}

  int64_t prepare(const std::string &worker, const server::Transaction &transaction) override;
  void decide(const std::string &worker, const server::Decision &decision) override;
  server::Outcome outcome(const std::string &worker, const server::RequestKey &request,
                          uint64_t attempt) override;

private:
  v1::Peer::Stub &stub(const std::string &worker);
  void call(const std::function<grpc::Status(grpc::ClientContext &)> &method);

  const std::chrono::milliseconds timeout;
  const std::shared_ptr<grpc::ChannelCredentials> credentials;
  const std::string token;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<v1::Peer::Stub>> stubs;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_PEERSERVICE_H
