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
