//===- CodeFolder.h - A folder of files that are run as code ------------------------*- C++ -*-===//
// What the caches of machine code share: a folder is opened once, and all that happens in it goes
// through its descriptor, so that a path which is changed at the same time leads nowhere else.

#ifndef UPDRAFT_RUNTIME_FILES_CODEFOLDER_H
#define UPDRAFT_RUNTIME_FILES_CODEFOLDER_H

#include "runtime/files/TrustedPath.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::files {

/// An open folder that nobody else may put files into. Any number of processes and threads may
/// share it: a file is written aside and renamed.
class CodeFolder {
public:
  struct File {
    std::string name;
    uint64_t bytes;
    int64_t lastUsed; // nanoseconds since 1970
  };

  /// None if there is no such folder (`reason` is empty then), or if it must not be used
  /// (TrustedPath.h says when).
  static std::optional<CodeFolder> open(const std::string &path, IfMissing ifMissing,
                                        std::string &reason);
  CodeFolder(CodeFolder &&other) noexcept;
  CodeFolder &operator=(CodeFolder &&) = delete;
  ~CodeFolder();

  /// The content of a regular file of the user's, which nobody else may write, of at most
  /// `maxBytes`; none for any other.
  std::optional<std::string> read(const std::string &name, uint64_t maxBytes) const;
  /// Without a sync: a file that a loss of power has damaged is found by its checksum. True if it
  /// was written.
  bool write(const std::string &name, std::string_view bytes) const;
  /// Makes now the time of the file's last use.
  void touch(const std::string &name) const;
  /// 0, or the number of the error.
  int remove(const std::string &name) const;

  /// The files whose names end so, the most recently used first. `error`, if given, is set to an
  /// error's number or 0.
  std::vector<File> files(std::string_view suffix, int *error = nullptr) const;
  /// Removes the least recently used files of this ending, until the others have at most
  /// `maxBytes`; and what writers that were killed left an hour ago.
  void evict(std::string_view suffix, uint64_t maxBytes) const;

private:
  explicit CodeFolder(int descriptor) : descriptor(descriptor) {}

  int descriptor;
};

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_CODEFOLDER_H
