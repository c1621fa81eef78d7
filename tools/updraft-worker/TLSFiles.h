//===- TLSFiles.h - The files of a worker's certificates ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_TLSFILES_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_TLSFILES_H

#include <string>

namespace updraft::worker {

/// PEM files. They are read again when they change.
struct TLSFiles {
  std::string certificate, key; ///< the worker's own; empty: no TLS
  std::string clientCA; ///< the authority of clients' certificates; empty: clients need none
  std::string peerCA;   ///< the authority of other workers' certificates

  bool isUsed() const { return !certificate.empty(); }
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_TLSFILES_H
