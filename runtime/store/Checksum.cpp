//===- Checksum.cpp - Detects damage ----------------------------------------------------------===//

#include "runtime/store/Checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t updraft::store::checksum(const std::vector<std::string_view> &parts, uint64_t seed) {
  XXH3_state_t state;
  XXH3_64bits_reset_withSeed(&state, seed);
  for (std::string_view part : parts)
    XXH3_64bits_update(&state, part.data(), part.size());
  return XXH3_64bits_digest(&state);
}

uint64_t updraft::store::checksum(const File &file) {
  std::vector<char> piece(size_t(1) << 20);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  uint64_t offset = 0;
  while (const size_t count = file.read(offset, piece.data(), piece.size())) {
    XXH3_64bits_update(&state, piece.data(), count);
    offset += count;
  }
  return XXH3_64bits_digest(&state);
}
