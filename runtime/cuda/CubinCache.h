//===- CubinCache.h - Machine code for GPUs kept between processes ------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CUDA_CUBINCACHE_H
#define UPDRAFT_RUNTIME_CUDA_CUBINCACHE_H

#include "runtime/files/CodeFolder.h"

#include <cstdint>
#include <optional>
#include <string>

namespace updraft::cuda {

/// A folder of cubins, a file NAME.cubin for each `source`: all that the cubin was made of and by.
/// Any number of processes may share it: a file is written aside and renamed, and carries a
/// checksum and the source. A cache that cannot be used (no folder, no space, a damaged file, a
/// folder or a file that somebody else may have written) behaves as an empty one. Thread-safe.
class CubinCache {
public:
  /// An empty `folder`: a cache that is always empty. `maxBytes` bounds the size of all files
  /// together; the least recently used go first.
  CubinCache(std::string folder, uint64_t maxBytes)
      : folder(std::move(folder)), maxBytes(maxBytes) {}

  std::optional<std::string> lookup(const std::string &source) const;
  void store(const std::string &source, const std::string &cubin) const;

private:
  static std::string nameOf(const std::string &source);
  std::optional<files::CodeFolder> open(files::IfMissing ifMissing) const;

  std::string folder;
  uint64_t maxBytes;
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_CUBINCACHE_H
