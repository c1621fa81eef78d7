//===- Credentials.h - A worker's certificates --------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_CREDENTIALS_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_CREDENTIALS_H

#include "TLSFiles.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

namespace updraft::worker {

/// Throws std::runtime_error if a file can't be read.
void checkFiles(const TLSFiles &files);

/// Refuses versions of TLS before 1.3, for all of this process. Called before gRPC is used.
void requireTLS13();

std::shared_ptr<grpc::ServerCredentials> serverCredentials(const TLSFiles &files);
/// For connections to other workers, which get the worker's own certificate.
std::shared_ptr<grpc::ChannelCredentials> peerCredentials(const TLSFiles &files);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_CREDENTIALS_H
