//===- SignedPackage.h - The packages that clients send -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_SIGNEDPACKAGE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_SIGNEDPACKAGE_H

#include "updraft/worker/v1/worker.pb.h"

#include <string>

namespace updraft::worker {

/// Returns the text of a PEM file with an Ed25519 public key. Throws std::runtime_error for another
/// file, or if libsodium is not installed.
std::string readPublicKey(const std::string &path);

/// Returns a package, if it has a valid signature by the public key, a PEM text. Throws
/// server::Refusal. Thread-safe.
std::string checkPackage(const v1::Rule &rule, const std::string &publicKey);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_SIGNEDPACKAGE_H
