//===- PeerService.cpp - Steps of several workers over gRPC -----------------------------------===//

#include "runtime/grpc/PeerService.h"

#include "runtime/grpc/Answer.h"
#include "runtime/messages/Reconnection.h"
#include "runtime/server/Refusal.h"

#include <grpcpp/grpcpp.h>

#include <fmt/format.h>

using namespace updraft;
using namespace updraft::worker;
using server::Outcome;
using server::Reason;
using server::Refusal;

//===----------------------------------------------------------------------------------------===//
// Requests of others
//===----------------------------------------------------------------------------------------===//

grpc::Status PeerService::Prepare(grpc::ServerContext *context, const v1::PrepareRequest *request,
                                  v1::PrepareResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Peer, {});
    if (request->self() == 0 || request->self() >= static_cast<uint32_t>(request->workers().size()))
      throw Refusal(Reason::InvalidArgument, "the worker is not one that the coordinator names");
    if (!peers.isAt(request->workers(0), request->coordinator_epoch()))
      throw Refusal(
          Reason::FailedPrecondition,
          fmt::format("the coordinator is not the worker that this one reaches at `{}`; use "
                      "addresses that are the same for clients and all workers",
                      request->workers(0)));
    response->set_stepped(server.prepare({request->context().optimizer(),
                                          request->context().number(),
                                          checkedKey(request->request()),
                                          request->attempt(),
                                          {request->workers().begin(), request->workers().end()},
                                          request->self(),
                                          request->staleness()}));
  });
}

grpc::Status PeerService::Decide(grpc::ServerContext *context, const v1::DecideRequest *request,
                                 v1::DecideResponse *) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Peer, {});
    server.decide({checkedKey(request->request()), request->attempt(), request->commit(), 0, {}});
  });
}

grpc::Status PeerService::Identify(grpc::ServerContext *context, const v1::IdentifyRequest *,
                                   v1::IdentifyResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Peer, {});
    response->set_epoch(peers.epoch());
  });
}

grpc::Status PeerService::GetOutcome(grpc::ServerContext *context,
                                     const v1::GetOutcomeRequest *request,
                                     v1::GetOutcomeResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Peer, {});
    switch (server.outcome(checkedKey(request->request()), request->attempt())) {
    case Outcome::Unknown:
      response->set_outcome(v1::GetOutcomeResponse::UNKNOWN);
      break;
    case Outcome::Undecided:
      response->set_outcome(v1::GetOutcomeResponse::UNDECIDED);
      break;
    case Outcome::Committed:
      response->set_outcome(v1::GetOutcomeResponse::COMMITTED);
      break;
    }
  });
}

//===----------------------------------------------------------------------------------------===//
// Requests to others
//===----------------------------------------------------------------------------------------===//

/// The connections that are kept.
static constexpr size_t mostPeers = 1000;

v1::Peer::Stub &PeerChannels::stub(const std::string &worker) {
  if (options.allowed && !options.allowed->contains(worker))
    throw Refusal(Reason::PermissionDenied,
                  fmt::format("`{}` is not an address in this worker's --peers", worker));
  const std::lock_guard guard(mutex);
  std::unique_ptr<v1::Peer::Stub> &place = stubs[worker];
  if (!place && stubs.size() > mostPeers) {
    stubs.erase(worker);
    throw Refusal(Reason::ResourceExhausted, "clients have named too many workers");
  }
  if (!place)
    place = v1::Peer::NewStub(
        grpc::CreateCustomChannel(worker, options.credentials, messages::reconnectingSoon()));
  return *place;
}

bool PeerChannels::isAt(const std::string &worker, uint64_t epoch) {
  {
    const std::lock_guard guard(mutex);
    if (const auto found = epochs.find(worker); found != epochs.end() && found->second == epoch)
      return true;
  }
  v1::IdentifyResponse response;
  call(
      [&](grpc::ClientContext &context) { return stub(worker).Identify(&context, {}, &response); });
  const std::lock_guard guard(mutex);
  epochs[worker] = response.epoch();
  return response.epoch() == epoch;
}

/// Calls a method. Throws the other worker's refusal.
void PeerChannels::call(const std::function<grpc::Status(grpc::ClientContext &)> &method) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + options.timeout);
  if (!options.token.empty())
    context.AddMetadata("authorization", "Bearer " + options.token);
  const grpc::Status status = method(context);
  if (status.ok())
    return;
  const auto told = reasonIn(context.GetServerTrailingMetadata());
  const Reason reason = told ? *told : reasonOf(status.error_code());
  // Otherwise clients would look for it among their own credentials.
  if (reason == Reason::Unauthenticated || reason == Reason::PermissionDenied)
    throw Refusal(Reason::FailedPrecondition,
                  "one of the workers refuses another (--peers, --peer-token, --tls-peer-ca): " +
                      status.error_message());
  throw Refusal(reason, status.error_message());
}

int64_t PeerChannels::prepare(const std::string &worker, const server::Transaction &transaction) {
  v1::PrepareRequest request;
  v1::PrepareResponse response;
  request.mutable_context()->set_optimizer(transaction.optimizer);
  request.mutable_context()->set_number(transaction.context);
  *request.mutable_request() = idOf(transaction.request);
  request.set_attempt(transaction.attempt);
  request.mutable_workers()->Assign(transaction.workers.begin(), transaction.workers.end());
  request.set_self(static_cast<uint32_t>(transaction.self));
  *request.mutable_staleness() = transaction.staleness;
  request.set_coordinator_epoch(options.epoch);
  call([&](grpc::ClientContext &context) {
    return stub(worker).Prepare(&context, request, &response);
  });
  return response.stepped();
}

void PeerChannels::decide(const std::string &worker, const server::Decision &decision) {
  v1::DecideRequest request;
  v1::DecideResponse response;
  *request.mutable_request() = idOf(decision.request);
  request.set_attempt(decision.attempt);
  request.set_commit(decision.isCommitted);
  call([&](grpc::ClientContext &context) {
    return stub(worker).Decide(&context, request, &response);
  });
}

Outcome PeerChannels::outcome(const std::string &worker, const server::RequestKey &request,
                              uint64_t attempt) {
  v1::GetOutcomeRequest asked;
  v1::GetOutcomeResponse response;
  *asked.mutable_request() = idOf(request);
  asked.set_attempt(attempt);
  call([&](grpc::ClientContext &context) {
    return stub(worker).GetOutcome(&context, asked, &response);
  });
  switch (response.outcome()) {
  case v1::GetOutcomeResponse::UNKNOWN:
    return Outcome::Unknown;
  case v1::GetOutcomeResponse::COMMITTED:
    return Outcome::Committed;
  default: // also what a newer worker says
    return Outcome::Undecided;
  }
}
