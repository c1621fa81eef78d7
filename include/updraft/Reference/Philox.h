//===- Philox.h - Random bits from a counter ----------------------------------------*- C++ -*-===//
// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) encrypts a
// counter with a key. Equal counters give equal bits on every target, in any order.

#ifndef UPDRAFT_REFERENCE_PHILOX_H
#define UPDRAFT_REFERENCE_PHILOX_H

#include <array>
#include <cstdint>

namespace updraft::reference {

/// The cipher as defined in the paper.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Returns the random bits of `updraft.random` for one element of a tensor in a step. `tensor` is
/// below 2^28; if `stream` is 16 or more, `element` is below 2^48.
uint64_t randomBits(uint64_t seed, uint64_t step, uint64_t tensor, uint64_t stream,
                    uint64_t element);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_PHILOX_H
