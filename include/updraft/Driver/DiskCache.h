//===- DiskCache.h - Compiled rules kept between processes --------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_DISKCACHE_H
#define UPDRAFT_DRIVER_DISKCACHE_H

#include "runtime/files/CodeFolder.h"
#include "updraft/Driver/CompiledRule.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace updraft {

/// A folder of compiled rules, one file per key. Any number of processes may share it: an entry is
/// written aside and renamed, and carries a checksum. Entries are run as code: a folder or an entry
/// that somebody else may have written is not used. A cache that cannot be used (no folder, no
/// space, a damaged entry) behaves as an empty one; no call but `entries` and `clear` can fail.
/// Thread-safe.
class DiskCache {
public:
  struct Entry {
    std::string key;
    std::string ruleName; // "?" if the entry is damaged, "kernels" of a GPU's machine code
    uint64_t bytes;
    int64_t lastUsed; // seconds since 1970
  };

  /// No folder: a cache that is always empty.
  DiskCache() = default;
  /// `maxBytes` bounds the size of all entries together; the least recently used go first.
  DiskCache(std::string folder, uint64_t maxBytes);

  /// UPDRAFT_CACHE_DIR (empty: none), or updraft in XDG_CACHE_HOME or ~/.cache; at most
  /// UPDRAFT_CACHE_MIB mebibytes, or 256.
  static DiskCache fromEnvironment();

  const std::string &getFolder() const { return folder; }
  /// Where the machine code of kernels for GPUs is kept, which the runtime stores; empty: nowhere.
  std::string getKernelFolder() const { return folder.empty() ? "" : folder + "/gpu"; }
  uint64_t getMaxBytes() const { return maxBytes; }
  /// Why the folder, or that of kernels, exists but is not used, and what to do about it; empty if
  /// it is used.
  std::string whyUnused() const;

  std::optional<CompiledRule> lookup(llvm::StringRef key) const;
  void store(llvm::StringRef key, const CompiledRule &rule) const;

  /// The entries, then those of kernels; the most recently used first.
  llvm::Expected<std::vector<Entry>> entries() const;
  /// Removes all of them, and returns how many. Fails in a folder that is not used.
  llvm::Expected<unsigned> clear() const;

private:
  struct Listing;

  std::optional<files::CodeFolder> open(files::IfMissing ifMissing) const;
  llvm::Expected<std::vector<Listing>> list() const;

  std::string folder;
  uint64_t maxBytes = 0;
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_DISKCACHE_H
