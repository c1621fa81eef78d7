//===- Answer.cpp - From refusals to gRPC's statuses ------------------------------------------===//

#include "runtime/grpc/Answer.h"

#include "runtime/server/Refusal.h"
#include "runtime/timeline/Span.h"

#include <exception>
#include <new>
#include <string>
#include <utility>

using namespace updraft;
using server::Reason;
using server::Refusal;

static grpc::StatusCode codeOf(Reason reason) {
  switch (reason) {
  case Reason::InvalidArgument:
    return grpc::StatusCode::INVALID_ARGUMENT;
  case Reason::NotFound:
  case Reason::ContextUnknown:
    return grpc::StatusCode::NOT_FOUND;
  case Reason::AlreadyExists:
    return grpc::StatusCode::ALREADY_EXISTS;
  case Reason::FailedPrecondition:
  case Reason::ClientUnknown:
  case Reason::Stale:
    return grpc::StatusCode::FAILED_PRECONDITION;
  case Reason::ResourceExhausted:
    return grpc::StatusCode::RESOURCE_EXHAUSTED;
  case Reason::Aborted:
  case Reason::OutcomeUnknown:
    return grpc::StatusCode::ABORTED;
  case Reason::Unavailable:
    return grpc::StatusCode::UNAVAILABLE;
  case Reason::Unauthenticated:
    return grpc::StatusCode::UNAUTHENTICATED;
  case Reason::PermissionDenied:
    return grpc::StatusCode::PERMISSION_DENIED;
  case Reason::Internal:
    break;
  }
  return grpc::StatusCode::INTERNAL;
}

static constexpr const char *metadataKey = "updraft-reason";

/// The reasons that the trailing metadata tells, and their texts there.
static constexpr std::pair<Reason, const char *> details[] = {
    {Reason::ContextUnknown, "context-unknown"},
    {Reason::ClientUnknown, "client-unknown"},
    {Reason::OutcomeUnknown, "outcome-unknown"},
    {Reason::Stale, "stale"},
};

std::optional<Reason>
worker::reasonIn(const std::multimap<grpc::string_ref, grpc::string_ref> &trailingMetadata) {
  const auto found = trailingMetadata.find(metadataKey);
  if (found != trailingMetadata.end())
    for (const auto &[reason, text] : details)
      if (found->second == text)
        return reason;
  return std::nullopt;
}

/// gRPC refuses the metadata of longer ones.
static constexpr size_t longestMessage = 2048;

grpc::Status worker::answer(grpc::ServerContext &context, const char *method,
                            const std::function<void()> &work) {
  const timeline::Span span("rpc", method);
  try {
    work();
    return grpc::Status::OK;
  } catch (const Refusal &refusal) {
    for (const auto &[reason, text] : details)
      if (reason == refusal.reason())
        context.AddTrailingMetadata(metadataKey, text);
    return {codeOf(refusal.reason()), std::string(refusal.what()).substr(0, longestMessage)};
  } catch (const std::bad_alloc &) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the machine has too little memory"};
  } catch (const std::exception &error) {
    return {grpc::StatusCode::INTERNAL, error.what()};
  }
}

server::RequestKey worker::checkedKey(const v1::RequestId &request) {
  if (request.client().empty() || request.sequence() == 0)
    throw Refusal(Reason::InvalidArgument,
                  "the request has no client or no sequence; they identify it if it is repeated");
  return server::keyOf(request);
}
