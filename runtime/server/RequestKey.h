//===- RequestKey.h - The identity of a request -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_REQUESTKEY_H
#define UPDRAFT_RUNTIME_SERVER_REQUESTKEY_H

#include "updraft/worker/v1/worker.pb.h"

#include <cstdint>
#include <string>

namespace updraft::server {

/// Identifies a request of a client. A client numbers its requests from 1, in ascending order.
struct RequestKey {
  std::string client;
  uint64_t sequence = 0;
  auto operator<=>(const RequestKey &) const = default;
};

inline RequestKey keyOf(const worker::v1::RequestId &id) { return {id.client(), id.sequence()}; }

inline worker::v1::RequestId idOf(const RequestKey &request) {
  worker::v1::RequestId result;
  result.set_client(request.client);
  result.set_sequence(request.sequence);
  return result;
}

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_REQUESTKEY_H
