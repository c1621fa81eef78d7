//===- GuardedTransport.h - Sockets that outlive connections of strangers -----------*- C++ -*-===//
// A listener of TensorPipe ends for good when one connection is closed before it has said hello, as
// a port scan and a health check do, and the process ends when a connection says something else
// first, which is taken for a length. Here TensorPipe is given connections that have said hello.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_GUARDEDTRANSPORT_H
#define UPDRAFT_RUNTIME_TORCH_RPC_GUARDEDTRANSPORT_H

namespace updraft::torch_adapter {

/// Has agents that this process makes from here on listen by guarded sockets. Once is enough.
/// Throws std::runtime_error if no descriptor or no thread can be had.
void guardTransports();

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_GUARDEDTRANSPORT_H
