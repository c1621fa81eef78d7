//===- AccessFile.h - A file of clients and their roles -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H

#include "AccessEntry.h"
#include "runtime/grpc/Access.h"

#include <shared_mutex>
#include <string>
#include <vector>

namespace updraft::worker {

/// Clients, by the digests of their tokens or by the common names of their certificates. `--help`
/// describes the lines of the file. Thread-safe.
class AccessFile final : public Access {
public:
  /// Throws std::runtime_error, with the line, for a file that it can't read.
  explicit AccessFile(std::string path);

  /// Reads the file again. If it has changed and has an error, logs that and keeps the old entries.
  /// Called by one thread.
  void refresh();

  void require(const grpc::ServerContext &context, Role role, Named named) const override;

private:
  const std::string path;
  std::string known;               ///< the content of the file when it was last read; of one thread
  mutable std::shared_mutex mutex; ///< guards what follows
  std::vector<AccessEntry> entries;
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H
