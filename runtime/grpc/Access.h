//===- Access.h - Roles of clients --------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_ACCESS_H
#define UPDRAFT_RUNTIME_GRPC_ACCESS_H

#include "runtime/grpc/Role.h"

#include <grpcpp/server_context.h>

#include <string_view>

namespace updraft::worker {

/// The names in a request, and how much it may change.
struct Named {
  std::string_view optimizer = {}; ///< empty: none
  std::string_view client = {};    ///< empty: none
  bool needsAll = false;           ///< may change what any optimizer uses
};

/// Decides whether the sender of a request has a role. Thread-safe.
class Access {
public:
  virtual ~Access() = default;
  /// Throws Unauthenticated or PermissionDenied. The message doesn't say why; the worker's log
  /// does.
  virtual void require(const grpc::ServerContext &context, Role role, Named named) const = 0;
};

/// For a worker that only its machine reaches.
class Everyone final : public Access {
public:
  void require(const grpc::ServerContext &, Role, Named) const override {}
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_ACCESS_H
