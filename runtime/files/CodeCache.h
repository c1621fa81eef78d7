//===- CodeCache.h - Machine code kept between processes ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_FILES_CODECACHE_H
#define UPDRAFT_RUNTIME_FILES_CODECACHE_H

#include "runtime/files/CodeFolder.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace updraft::files {

/// A folder of machine code, one file per key. Any number of processes may share it: a file is
/// written aside and renamed, and contains its key and a checksum. A cache that can't be used (no
/// folder, no space, a damaged file, a folder or file that someone else may have written) behaves
/// like an empty one. Thread-safe.
class CodeCache {
public:
  struct Entry {
    std::string key;
    std::string code;
  };

  /// A cache that is always empty.
  CodeCache() = default;
  /// If `folder` is empty, the cache is always empty. Names of files end with `suffix`. `maxBytes`
  /// limits the total size of the files; the least recently used are removed first.
  CodeCache(std::string folder, std::string suffix, uint64_t maxBytes)
      : path(std::move(folder)), suffix(std::move(suffix)), maxBytes(maxBytes) {}

  const std::string &folder() const { return path; }
  uint64_t getMaxBytes() const { return maxBytes; }

  std::optional<std::string> lookup(std::string_view key) const;
  void store(std::string_view key, std::string_view code) const;

  /// The file name for a key: a hash of it. The key in the file distinguishes equal hashes.
  std::string nameOf(std::string_view key) const;
  /// The open folder; empty if it doesn't exist or isn't used. `reason` says why it isn't used.
  std::optional<CodeFolder> open(IfMissing ifMissing, std::string &reason) const;
  /// The files of entries, most recently used first. `error` is set to an errno value or 0.
  std::vector<CodeFolder::File> files(const CodeFolder &folder, int &error) const {
    return folder.files(suffix, &error);
  }
  /// The content of a file; empty if it is damaged.
  std::optional<Entry> read(const CodeFolder &folder, const std::string &name) const;

private:
  std::string path, suffix;
  uint64_t maxBytes = 0;
};

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_CODECACHE_H
