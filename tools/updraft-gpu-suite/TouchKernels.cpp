//===- TouchKernels.cpp - Kernels of the memory limit -----------------------------------------===//
// In-place kernels over the streams of a step, compiled to PTX. They combine the written streams
// with the read-only streams under a mask that is zero. So the compiler can't remove a load or
// store, and no value changes. Streams are whole units of 16 bytes.

#include "TouchKernels.h"

using updraft::suite::TouchArguments;

#define KERNEL extern "C" __attribute__((nvptx_kernel)) void
#define GLOBAL __attribute__((address_space(1)))

using Unit = unsigned __attribute__((vector_size(16)));

static inline long firstOfThread() {
  return static_cast<long>(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}
static inline long threads() {
  return static_cast<long>(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x();
}

/// Streams with the same number of units: one read-only, and `written` written ones.
template <int written, int unrolled> static inline void touch(const TouchArguments &arguments) {
  const GLOBAL Unit *read = (const GLOBAL Unit *)arguments.data[0];
  const unsigned zero = arguments.zero;
  const long stride = threads();
  long i = firstOfThread();
  for (; i + (unrolled - 1) * stride < arguments.units; i += unrolled * stride) {
    Unit in[unrolled], values[written][unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      in[u] = read[i + u * stride] & zero;
#pragma unroll
      for (int w = 0; w < written; ++w)
        values[w][u] = ((GLOBAL Unit *)arguments.data[1 + w])[i + u * stride];
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u)
#pragma unroll
      for (int w = 0; w < written; ++w)
        ((GLOBAL Unit *)arguments.data[1 + w])[i + u * stride] = values[w][u] ^ in[u];
  }
  for (; i < arguments.units; i += stride) {
    const Unit in = read[i] & zero;
#pragma unroll
    for (int w = 0; w < written; ++w)
      ((GLOBAL Unit *)arguments.data[1 + w])[i] ^= in;
  }
}

/// Two streams of `outer` times `units` units, the first read-only, and two written ones of `inner`
/// times as many.
template <int outer, int inner> static inline void touchMixed(const TouchArguments &arguments) {
  const GLOBAL Unit *read = (const GLOBAL Unit *)arguments.data[0];
  const unsigned zero = arguments.zero;
  const long units = arguments.units, stride = threads();
  for (long i = firstOfThread(); i < units; i += stride) {
    Unit in[outer], values[outer], states[2][inner];
#pragma unroll
    for (int u = 0; u < outer; ++u) {
      in[u] = read[i + u * units] & zero;
      values[u] = ((GLOBAL Unit *)arguments.data[1])[i + u * units];
    }
#pragma unroll
    for (int w = 0; w < 2; ++w)
#pragma unroll
      for (int u = 0; u < inner; ++u)
        states[w][u] = ((GLOBAL Unit *)arguments.data[2 + w])[i + u * units];
#pragma unroll
    for (int u = 0; u < outer; ++u)
      ((GLOBAL Unit *)arguments.data[1])[i + u * units] = values[u] ^ in[u];
#pragma unroll
    for (int w = 0; w < 2; ++w)
#pragma unroll
      for (int u = 0; u < inner; ++u)
        ((GLOBAL Unit *)arguments.data[2 + w])[i + u * units] = states[w][u] ^ in[0];
  }
}

KERNEL updraft_touch_1(TouchArguments arguments) { touch<1, 1>(arguments); }
KERNEL updraft_touch_2(TouchArguments arguments) { touch<2, 1>(arguments); }
KERNEL updraft_touch_3(TouchArguments arguments) { touch<3, 1>(arguments); }
KERNEL updraft_touch_1_unrolled(TouchArguments arguments) { touch<1, 4>(arguments); }
KERNEL updraft_touch_2_unrolled(TouchArguments arguments) { touch<2, 2>(arguments); }
KERNEL updraft_touch_3_unrolled(TouchArguments arguments) { touch<3, 2>(arguments); }
KERNEL updraft_touch_1_by_2(TouchArguments arguments) { touchMixed<1, 2>(arguments); }
KERNEL updraft_touch_4_by_1(TouchArguments arguments) { touchMixed<4, 1>(arguments); }
KERNEL updraft_touch_nothing(TouchArguments) {}
