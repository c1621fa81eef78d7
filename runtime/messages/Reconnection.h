//===- Reconnection.h - How soon a lost worker is found again -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_MESSAGES_RECONNECTION_H
#define UPDRAFT_RUNTIME_MESSAGES_RECONNECTION_H

#include <grpcpp/support/channel_arguments.h>

namespace updraft::messages {

/// Arguments for channels to workers. They connect again within 0.1 to 1.2 s after a refused
/// attempt. By itself, gRPC waits for 1 s, and for up to 2 min once a worker has been away for
/// long. An attempt without an answer ends after 5 s instead of 20 s.
inline grpc::ChannelArguments reconnectingSoon() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return arguments;
}

} // namespace updraft::messages

#endif // UPDRAFT_RUNTIME_MESSAGES_RECONNECTION_H
