//===- AccessFile.h - A file of clients and their roles -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H

#include "AccessEntry.h"
#include "runtime/grpc/Access.h"

#include <filesystem>
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

  /// Reads the file again if it has changed. If it has an error, logs it and keeps the old content.
  void refresh();

  void require(const grpc::ServerContext &context, Role role, Named named) const override;

private:
  const std::string path;
  mutable std::shared_mutex mutex; ///< guards what follows
  std::vector<AccessEntry> entries;
  std::filesystem::file_time_type changed;
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H
