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

/// The same by instructions that add two products of bf16 in f32 (AVX512-BF16): four operations for
/// each element. The CPU must have them.
int64_t multiplyAndAddPairs(int64_t operations);
/// Whether rules in `fast` use these instructions here.
bool multipliesBF16();

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_FMAPEAK_H
