//===- Philox.cpp - Random bits from a counter ------------------------------------------------===//

#include "updraft/Reference/Philox.h"

using namespace updraft;

std::array<uint32_t, 4> reference::philox(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t(0xD2511F53) * counter[0];
    const uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9; // the golden ratio
    key[1] += 0xBB67AE85; // sqrt(3) - 1
  }
  return counter;
}

uint64_t reference::randomBits(uint64_t seed, uint64_t step, uint64_t tensor, uint64_t stream,
                               uint64_t element) {
  const std::array<uint32_t, 4> words =
      philox({uint32_t(element), uint32_t(element >> 32) | uint32_t(stream / 16) << 16,
              uint32_t(step), uint32_t(tensor * 16 + stream % 16)},
             {uint32_t(seed), uint32_t(seed >> 32)});
  return words[0] | uint64_t(words[1]) << 32;
}
