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

/// The compiled rules in a CodeCache, and the machine code of kernels beside them, which the
/// runtime stores. Only `entries` and `clear` can fail. Thread-safe.
class DiskCache {
public:
  struct Entry {
    std::string key;      // the name of its file, without the suffix
    std::string ruleName; // "?" if the entry is damaged, "kernels" for a GPU's machine code
    uint64_t bytes;
    int64_t lastUsed; // seconds since 1970
  };

  /// No folder: a cache that is always empty.
  DiskCache() = default;
  /// `maxBytes` bounds the size of all entries together; the least recently used go first.
  DiskCache(const std::string &folder, uint64_t maxBytes);

  /// UPDRAFT_CACHE_DIR (empty: none), or updraft in XDG_CACHE_HOME or ~/.cache; at most
  /// UPDRAFT_CACHE_MIB mebibytes, or 256.
  static DiskCache fromEnvironment();

  const std::string &getFolder() const { return rules.folder(); }
  /// The folder of the machine code of kernels for GPUs; empty: none.
  const std::string &getKernelFolder() const { return kernels.folder(); }
  uint64_t getMaxBytes() const { return rules.getMaxBytes(); }
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

  llvm::Expected<std::vector<Listing>> list() const;

  files::CodeCache rules, kernels;
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_DISKCACHE_H
