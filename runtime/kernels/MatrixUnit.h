//===- MatrixUnit.h - Small products by the matrix unit of a GPU --------------------*- C++ -*-===//
// The 32 threads of a warp multiply 16 x 16 by 16 x 8 elements of bf16 and add up in f32, by
// mma.sync.m16n8k16 (PTX ISA, "Matrix fragments for mma.m16n8k16"). With g = lane / 4 and
// t = lane % 4, a thread holds
//
//   of lhs   the pairs (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) of a row and a depth
//   of rhs   the pairs (2t, g), (2t + 8, g) of a depth and a column
//   of sums  (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
//
// where a pair has two adjacent depths, the first in the lower half.

#ifndef UPDRAFT_RUNTIME_KERNELS_MATRIXUNIT_H
#define UPDRAFT_RUNTIME_KERNELS_MATRIXUNIT_H

#include "runtime/kernels/KernelThread.h"

#include <stdint.h>

namespace updraft::gpu {

using BF16Pair = uint32_t;

struct alignas(16) LhsFragment {
  BF16Pair pairs[4];
};
struct RhsFragment {
  BF16Pair pairs[2];
};
struct SumFragment {
  float elements[4];
};

#if defined(__NVPTX__)
inline BF16Pair roundedPair(float lower, float upper) {
  BF16Pair pair;
  __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  return pair;
}

/// Adds the product of two fragments; called by all threads of a warp.
inline void multiplyAdd(SumFragment &sum, const LhsFragment &lhs, const RhsFragment &rhs) {
  float *d = sum.elements;
  __asm__("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(lhs.pairs[0]), "r"(lhs.pairs[1]), "r"(lhs.pairs[2]), "r"(lhs.pairs[3]),
            "r"(rhs.pairs[0]), "r"(rhs.pairs[1]));
}

using FourPairs = BF16Pair __attribute__((ext_vector_type(4)));

/// A fragment in shared memory.
inline LhsFragment loadFragment(const UPD_GPU_SHARED_TYPE LhsFragment &from) {
  const FourPairs four = *reinterpret_cast<const UPD_GPU_SHARED_TYPE FourPairs *>(&from);
  return {{four.x, four.y, four.z, four.w}};
}

/// Starts to copy a fragment from global to shared memory.
inline void copyFragment(UPD_GPU_SHARED_TYPE LhsFragment *to, const LhsFragment *from) {
  __nvvm_cp_async_cg_shared_global_16(
      to, reinterpret_cast<const __attribute__((address_space(1))) LhsFragment *>(
              reinterpret_cast<uintptr_t>(from)));
}
/// Ends a group of copies.
inline void endCopies() { __nvvm_cp_async_commit_group(); }
/// Waits for this thread's copies, but not for its last `count` groups.
template <int count> inline void waitForCopies() { __nvvm_cp_async_wait_group(count); }
#else
inline uint32_t roundedToBF16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  if (value != value)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline BF16Pair roundedPair(float lower, float upper) {
  return roundedToBF16(upper) << 16 | roundedToBF16(lower);
}
inline float lowerOf(BF16Pair pair) {
  const uint32_t bits = pair << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}
inline float upperOf(BF16Pair pair) { return lowerOf(pair >> 16); }

inline LhsFragment loadFragment(const LhsFragment &from) { return from; }
inline void copyFragment(LhsFragment *to, const LhsFragment *from) { *to = *from; }
inline void endCopies() {}
template <int count> inline void waitForCopies() {}

static thread_local LhsFragment emulatedLhs[UPD_GPU_THREADS];
static thread_local RhsFragment emulatedRhs[UPD_GPU_THREADS];

/// The emulator's threads exchange fragments through memory, so all threads of the block must call
/// it. Sums are rounded one by one, in the order of the depth.
inline void multiplyAdd(SumFragment &sum, const LhsFragment &lhs, const RhsFragment &rhs) {
  const int64_t thread = threadOfBlock();
  emulatedLhs[thread] = lhs;
  emulatedRhs[thread] = rhs;
  barrier();
  const int64_t lane = thread % 32, warp = thread - lane;
  for (int i = 0; i < 4; ++i) {
    const int64_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (int64_t depth = 0; depth < 16; depth += 2) {
      const int64_t pairOfHalf = depth % 8 / 2, half = depth / 8;
      const BF16Pair left = emulatedLhs[warp + row % 8 * 4 + pairOfHalf].pairs[half * 2 + row / 8];
      const BF16Pair right = emulatedRhs[warp + column * 4 + pairOfHalf].pairs[half];
      sum.elements[i] += lowerOf(left) * lowerOf(right);
      sum.elements[i] += upperOf(left) * upperOf(right);
    }
  }
  barrier();
}
#endif

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_MATRIXUNIT_H
