//===- AccessEntry.h - A client and its role ----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSENTRY_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSENTRY_H

#include "runtime/grpc/Role.h"
#include "runtime/package/Digest.h"

#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::worker {

struct AccessEntry {
  std::optional<package::Digest> token; ///< of the token; none for a certificate
  std::string commonName;
  Role role = Role::Reader;
  std::set<std::string> optimizers; ///< empty: all
  std::vector<std::string> clients; ///< names, perhaps followed by "/" and more; empty: all
  std::optional<std::time_t> until; ///< none: forever
};

/// Parses the text of an access file, which `updraft-worker --help` describes. Throws
/// std::runtime_error with the line: "FILE:3:1: error: …".
std::vector<AccessEntry> parseAccess(std::string_view text, const std::string &file);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSENTRY_H
