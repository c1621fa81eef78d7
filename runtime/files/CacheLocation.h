//===- CacheLocation.h - Where compiled code is kept by default ---------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_FILES_CACHELOCATION_H
#define UPDRAFT_RUNTIME_FILES_CACHELOCATION_H

#include <cstdint>
#include <string>

namespace updraft::files {

/// The disk cache's folder and largest size.
struct CacheLocation {
  std::string folder; ///< empty: no cache
  uint64_t maxBytes = 0;

  /// Reads UPDRAFT_CACHE_DIR and UPDRAFT_CACHE_MIB. The default is 256 MiB in the user's folder for
  /// caches.
  static CacheLocation fromEnvironment();
};

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_CACHELOCATION_H
