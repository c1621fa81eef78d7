//===- Reconnection.h - How soon a lost worker is found again -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_MESSAGES_RECONNECTION_H
#define UPDRAFT_RUNTIME_MESSAGES_RECONNECTION_H

#include <grpcpp/support/channel_arguments.h>

namespace updraft::messages {

/// Arguments for channels to workers. They try to connect again after 0.1 to 1 s. By itself, gRPC
/// waits for at least 1 s, and for up to 2 min once a worker has been away for long.
inline grpc::ChannelArguments reconnectingSoon() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return arguments;
}

} // namespace updraft::messages

#endif // UPDRAFT_RUNTIME_MESSAGES_RECONNECTION_H
