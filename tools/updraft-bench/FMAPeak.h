//===- FMAPeak.h - The arithmetic that a core can do --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_FMAPEAK_H
#define UPDRAFT_TOOLS_BENCH_FMAPEAK_H

#include <cstdint>

namespace updraft::bench {

/// Takes at least `operations` operations of fused multiply-adds in f32, two for each element, in
/// registers alone, and returns how many it took. Uses the widest vectors of AVX-512 or AVX2 that
/// the CPU has, and on other targets those of the compiler. No product of matrices in f32 can be
/// faster.
int64_t multiplyAndAdd(int64_t operations);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_FMAPEAK_H
