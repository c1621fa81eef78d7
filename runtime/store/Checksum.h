//===- Checksum.h - Detects damage --------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_STORE_CHECKSUM_H
#define UPDRAFT_RUNTIME_STORE_CHECKSUM_H

#include "runtime/store/Disk.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace updraft::store {

/// XXH3 with 64 bits over the parts, one after the other. Detects damage, not malice.
uint64_t checksum(const std::vector<std::string_view> &parts, uint64_t seed);
/// The same over a file's content, with the seed 0. Reads it in pieces. Throws StoreError.
uint64_t checksum(const File &file);

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_CHECKSUM_H
