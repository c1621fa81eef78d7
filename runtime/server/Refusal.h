//===- Refusal.h - A request that a server refuses ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_REFUSAL_H
#define UPDRAFT_RUNTIME_SERVER_REFUSAL_H

#include <stdexcept>
#include <string>

namespace updraft::server {

/// Why a request is refused. worker.proto describes each code.
enum class Reason {
  InvalidArgument,
  NotFound,
  AlreadyExists,
  FailedPrecondition,
  ResourceExhausted,
  Aborted,
  Unavailable,
  Unauthenticated,
  PermissionDenied,
  Internal,
  // Clients need to tell these from others with the same code.
  ContextUnknown, ///< NotFound
  ClientUnknown,  ///< FailedPrecondition
  OutcomeUnknown, ///< Aborted
  Stale,          ///< FailedPrecondition
};

/// Thrown before anything is changed, unless the reason is OutcomeUnknown. The message is for the
/// client's user.
class Refusal : public std::runtime_error {
public:
  Refusal(Reason reason, const std::string &message) : std::runtime_error(message), why(reason) {}
  Reason reason() const { return why; }

private:
  Reason why;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_REFUSAL_H
