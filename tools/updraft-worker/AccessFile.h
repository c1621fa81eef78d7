//===- AccessFile.h - A file of clients and their roles -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H

#include "runtime/grpc/Access.h"
#include "runtime/package/Digest.h"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
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

  void require(const grpc::ServerContext &context, Role role,
               const std::string &optimizer) const override;

private:
  struct Entry {
    std::optional<package::Digest> token; ///< of the token; none for a certificate
    std::string commonName;
    Role role = Role::Reader;
    std::set<std::string> optimizers; ///< empty: all
    std::time_t until = 0;            ///< 0: forever
  };

  static std::vector<Entry> read(const std::string &path);
  static Entry parse(std::string_view line);

  const std::string path;
  mutable std::shared_mutex mutex; ///< guards what follows
  std::vector<Entry> entries;
  std::filesystem::file_time_type changed;
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_ACCESSFILE_H
