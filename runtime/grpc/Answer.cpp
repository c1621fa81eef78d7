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

/// The code of each reason. The first reason of a code is the one that needs no metadata.
static constexpr std::pair<Reason, grpc::StatusCode> codes[] = {
    {Reason::InvalidArgument, grpc::StatusCode::INVALID_ARGUMENT},
    {Reason::NotFound, grpc::StatusCode::NOT_FOUND},
    {Reason::ContextUnknown, grpc::StatusCode::NOT_FOUND},
    {Reason::AlreadyExists, grpc::StatusCode::ALREADY_EXISTS},
    {Reason::FailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION},
    {Reason::ClientUnknown, grpc::StatusCode::FAILED_PRECONDITION},
    {Reason::Stale, grpc::StatusCode::FAILED_PRECONDITION},
    {Reason::ResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED},
    {Reason::Aborted, grpc::StatusCode::ABORTED},
    {Reason::OutcomeUnknown, grpc::StatusCode::ABORTED},
    {Reason::Unavailable, grpc::StatusCode::UNAVAILABLE},
    {Reason::Unauthenticated, grpc::StatusCode::UNAUTHENTICATED},
    {Reason::PermissionDenied, grpc::StatusCode::PERMISSION_DENIED},
};

static grpc::StatusCode codeOf(Reason reason) {
  for (const auto &[each, code] : codes)
    if (each == reason)
      return code;
  return grpc::StatusCode::INTERNAL;
}

Reason worker::reasonOf(grpc::StatusCode code) {
  for (const auto &[reason, each] : codes)
    if (each == code)
      return reason;
  return Reason::Unavailable;
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
