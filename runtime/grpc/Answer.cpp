//===- Answer.cpp - From refusals to gRPC's statuses ------------------------------------------===//

#include "runtime/grpc/Answer.h"

#include "runtime/server/Refusal.h"

#include <exception>
#include <new>
#include <string>

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

/// The text in the trailing metadata, or null.
static const char *detailOf(Reason reason) {
  switch (reason) {
  case Reason::ContextUnknown:
    return "context-unknown";
  case Reason::ClientUnknown:
    return "client-unknown";
  case Reason::OutcomeUnknown:
    return "outcome-unknown";
  case Reason::Stale:
    return "stale";
  default:
    return nullptr;
  }
}

/// gRPC refuses the metadata of longer ones.
static constexpr size_t longestMessage = 2048;

grpc::Status worker::answer(grpc::ServerContext &context, const std::function<void()> &work) {
  try {
    work();
    return grpc::Status::OK;
  } catch (const Refusal &refusal) {
    if (const char *detail = detailOf(refusal.reason()))
      context.AddTrailingMetadata("updraft-reason", detail);
    return {codeOf(refusal.reason()), std::string(refusal.what()).substr(0, longestMessage)};
  } catch (const std::bad_alloc &) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the machine has too little memory"};
  } catch (const std::exception &error) {
    return {grpc::StatusCode::INTERNAL, error.what()};
  }
}

server::RequestKey worker::keyOf(const v1::RequestId &request) {
  if (request.client().empty() || request.sequence() == 0)
    throw Refusal(Reason::InvalidArgument,
                  "the request has no client or no sequence; they identify it if it is repeated");
  return {request.client(), request.sequence()};
}
