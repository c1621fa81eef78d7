//===- MatrixUnit.h - Small products by the matrix unit of a GPU --------------------*- C++ -*-===//
// The 32 threads of a warp multiply 16 x 16 by 16 x 8 elements, either bf16 or f16, and add up in
// f32, by mma.sync.m16n8k16 (PTX ISA, "Matrix fragments for mma.m16n8k16"). With g = lane / 4 and
// t = lane % 4, a thread holds
//
//   of lhs   the pairs (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) of a row and a depth
//   of rhs   the pairs (2t, g), (2t + 8, g) of a depth and a column
//   of sums  (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
//
// where a pair has two adjacent depths, the first in the lower half.

#ifndef UPDRAFT_RUNTIME_KERNELS_MATRIXUNIT_H
#define UPDRAFT_RUNTIME_KERNELS_MATRIXUNIT_H

#include "runtime/base/ScalarStorage.h"
#include "runtime/kernels/KernelThread.h"

#include <stdint.h>

namespace updraft::gpu {

/// Two elements of a format: UPD_BF16 or UPD_F16.
using Pair = uint32_t;

struct alignas(16) LhsFragment {
  Pair pairs[4];
};
struct RhsFragment {
  Pair pairs[2];
};
struct SumFragment {
  float elements[4];
};

#if defined(__NVPTX__)
/// Rounds to nearest, ties to even. Larger values than those of the format become infinite.
template <upd_dtype format> inline Pair roundedPair(float lower, float upper) {
  Pair pair;
  if constexpr (format == UPD_BF16)
    __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  else
    __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  return pair;
}

#define UPD_MULTIPLY_ADD(format)                                                                   \
  __asm__("mma.sync.aligned.m16n8k16.row.col.f32." format "." format ".f32 "                       \
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                        \
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                         \
          : "r"(lhs.pairs[0]), "r"(lhs.pairs[1]), "r"(lhs.pairs[2]), "r"(lhs.pairs[3]),            \
            "r"(rhs.pairs[0]), "r"(rhs.pairs[1]))

/// Adds the product of two fragments; called by all threads of a warp.
template <upd_dtype format>
inline void multiplyAdd(SumFragment &sum, const LhsFragment &lhs, const RhsFragment &rhs) {
  float *d = sum.elements;
  if constexpr (format == UPD_BF16)
    UPD_MULTIPLY_ADD("bf16");
  else
    UPD_MULTIPLY_ADD("f16");
}
#undef UPD_MULTIPLY_ADD

using FourPairs = Pair __attribute__((ext_vector_type(4)));

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
template <upd_dtype format> inline Pair roundedPair(float lower, float upper) {
  constexpr runtime::Format16 rounded = runtime::formatOf(format);
  return Pair{runtime::encode16(upper, rounded)} << 16 | runtime::encode16(lower, rounded);
}

inline LhsFragment loadFragment(const LhsFragment &from) { return from; }
inline void copyFragment(LhsFragment *to, const LhsFragment *from) { *to = *from; }
inline void endCopies() {}
template <int count> inline void waitForCopies() {}

/// The elements of a thread's fragments.
struct EmulatedFragments {
  float lhs[4][2], rhs[2][2];
};
static thread_local EmulatedFragments emulatedFragments[UPD_GPU_THREADS];

/// Stores both elements of a pair.
template <upd_dtype format> inline void decode(Pair pair, float *elements) {
  constexpr runtime::Format16 rounded = runtime::formatOf(format);
  elements[0] = static_cast<float>(runtime::decode16(static_cast<uint16_t>(pair), rounded));
  elements[1] = static_cast<float>(runtime::decode16(static_cast<uint16_t>(pair >> 16), rounded));
}

/// The emulator's threads exchange fragments through memory, so all threads of the block must call
/// it. Sums are rounded one by one, in the order of the depth.
template <upd_dtype format>
inline void multiplyAdd(SumFragment &sum, const LhsFragment &lhs, const RhsFragment &rhs) {
  const int64_t thread = threadOfBlock();
  EmulatedFragments &own = emulatedFragments[thread];
  for (int i = 0; i < 4; ++i)
    decode<format>(lhs.pairs[i], own.lhs[i]);
  for (int i = 0; i < 2; ++i)
    decode<format>(rhs.pairs[i], own.rhs[i]);
  barrier();
  const int64_t lane = thread % 32;
  const EmulatedFragments *warp = emulatedFragments + thread - lane;
  for (int i = 0; i < 4; ++i) {
    const int64_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (int64_t depth = 0; depth < 16; ++depth) {
      const int64_t pairOfHalf = depth % 8 / 2, half = depth / 8;
      sum.elements[i] += warp[row % 8 * 4 + pairOfHalf].lhs[half * 2 + row / 8][depth % 2] *
                         warp[column * 4 + pairOfHalf].rhs[half][depth % 2];
    }
  }
  barrier();
}
#endif

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_MATRIXUNIT_H
