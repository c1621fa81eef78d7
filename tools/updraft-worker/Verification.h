//===- Verification.h - Checks a store ----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_VERIFICATION_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_VERIFICATION_H

#include <string>

namespace updraft::worker {

/// Restores all that a store has, without changing it, and prints what that is. Throws
/// store::StoreError if the store is damaged, and std::runtime_error if the folder isn't one.
void verifyStore(const std::string &folder);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_VERIFICATION_H
