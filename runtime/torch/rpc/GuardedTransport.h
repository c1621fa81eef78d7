//===- GuardedTransport.h - Sockets that survive strangers --------------------------*- C++ -*-===//
// A TensorPipe listener stops permanently when a connection is closed before it has said hello, as
// by a port scan or a health check. The process crashes when a connection says something else
// first, because TensorPipe takes it for a length. Here TensorPipe only gets connections that have
// said hello.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_GUARDEDTRANSPORT_H
#define UPDRAFT_RUNTIME_TORCH_RPC_GUARDEDTRANSPORT_H

namespace updraft::torch_adapter {

/// Makes agents that this process creates from now on listen with guarded sockets. One call is
/// enough. Throws std::runtime_error if the process can't get a descriptor or a thread.
void guardTransports();

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_GUARDEDTRANSPORT_H
