//===- Answer.h - From refusals to gRPC's statuses ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_ANSWER_H
#define UPDRAFT_RUNTIME_GRPC_ANSWER_H

#include "runtime/server/Refusal.h"
#include "runtime/server/RequestKey.h"
#include "updraft/worker/v1/worker.pb.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <functional>
#include <map>
#include <optional>

namespace updraft::worker {

/// Calls `work`, and returns the status for what it throws. No exception may leave a handler. The
/// timeline shows the call of `method`.
grpc::Status answer(grpc::ServerContext &context, const char *method,
                    const std::function<void()> &work);

/// The reason of a status without trailing metadata. Other errors than those of `answer` may pass,
/// and are Unavailable.
server::Reason reasonOf(grpc::StatusCode code);
/// The reason of a status that `answer` has made with trailing metadata; none without.
std::optional<server::Reason>
reasonIn(const std::multimap<grpc::string_ref, grpc::string_ref> &trailingMetadata);

/// Throws server::Refusal if the client or the sequence is missing.
server::RequestKey checkedKey(const v1::RequestId &request);

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_ANSWER_H
