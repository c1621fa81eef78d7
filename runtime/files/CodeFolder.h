//===- CodeFolder.h - A folder of files that are executed as code -------------------*- C++ -*-===//
// For the cache of machine code. A folder is opened once, and all accesses use its
// descriptor, so that a concurrent change of the path has no effect.

#ifndef UPDRAFT_RUNTIME_FILES_CODEFOLDER_H
#define UPDRAFT_RUNTIME_FILES_CODEFOLDER_H

#include "runtime/files/TrustedPath.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::files {

/// An open folder that nobody else may write to. Any number of processes and threads may share it:
/// a file is written aside and renamed.
class CodeFolder {
public:
  struct File {
    std::string name;
    uint64_t bytes;
    int64_t lastUsed; // nanoseconds since 1970
  };

  /// Empty if the folder doesn't exist (`reason` is empty then), or if it must not be used
  /// (TrustedPath.h has the conditions).
  static std::optional<CodeFolder> open(const std::string &path, IfMissing ifMissing,
                                        std::string &reason);
  CodeFolder(CodeFolder &&other) noexcept;
  CodeFolder &operator=(CodeFolder &&) = delete;
  ~CodeFolder();

  /// The content of a file. Empty unless it is a regular file of at most `maxBytes` that belongs to
  /// the user and nobody else may write to.
  std::optional<std::string> read(const std::string &name, uint64_t maxBytes) const;
  /// Writes without a sync: the checksum detects a file that was damaged by a loss of power.
  /// Returns whether it was written.
  bool write(const std::string &name, std::string_view bytes) const;
  /// Sets the file's time of last use to now.
  void touch(const std::string &name) const;
  /// Returns 0 or an errno value.
  int remove(const std::string &name) const;

  /// The files with this suffix, most recently used first. `error`, if given, is set to an errno
  /// value or 0.
  std::vector<File> files(std::string_view suffix, int *error = nullptr) const;
  /// Removes the least recently used files with this suffix, until the rest has at most `maxBytes`,
  /// and files that killed writers left at least an hour ago.
  void evict(std::string_view suffix, uint64_t maxBytes) const;

private:
  explicit CodeFolder(int descriptor) : descriptor(descriptor) {}

  int descriptor;
};

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_CODEFOLDER_H
