//===- DiskCache.h - Compiled rules kept between processes --------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_DISKCACHE_H
#define UPDRAFT_DRIVER_DISKCACHE_H

#include "runtime/files/CodeCache.h"
#include "updraft/Driver/CompiledRule.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace updraft {

/// Keeps compiled rules in a CodeCache. Only `entries` and `clear` can fail. Thread-safe.
class DiskCache {
public:
  struct Entry {
    std::string key;      // the file's name, without the suffix
    std::string ruleName; // "?" if the entry is damaged
    uint64_t bytes;
    int64_t lastUsed; // seconds since 1970
  };

  /// Creates a cache without a folder, which is always empty.
  DiskCache() = default;
  /// `maxBytes` limits the total size of all entries; the least recently used are removed first.
  DiskCache(const std::string &folder, uint64_t maxBytes);

  /// Uses UPDRAFT_CACHE_DIR (empty: no cache), else updraft in XDG_CACHE_HOME or ~/.cache. The
  /// limit is UPDRAFT_CACHE_MIB mebibytes, 256 by default.
  static DiskCache fromEnvironment();

  const std::string &getFolder() const { return rules.folder(); }
  uint64_t getMaxBytes() const { return rules.getMaxBytes(); }
  /// Explains why an existing folder is not used, and how to fix that; empty if it is used.
  std::string whyUnused() const;

  std::optional<CompiledRule> lookup(llvm::StringRef key) const;
  void store(llvm::StringRef key, const CompiledRule &rule) const;

  /// Lists the entries, most recently used first.
  llvm::Expected<std::vector<Entry>> entries() const;
  /// Removes all entries and returns their number. Fails if the folder is not used.
  llvm::Expected<unsigned> clear() const;

private:
  struct Listing;

  llvm::Expected<std::optional<Listing>> list() const;

  files::CodeCache rules;
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_DISKCACHE_H
