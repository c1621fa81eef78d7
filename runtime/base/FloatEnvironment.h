//===- FloatEnvironment.h - The floating-point mode that kernels run in -------------*- C++ -*-===//
// Hosts may set flush-to-zero or another rounding mode, but kernels are defined without.

#ifndef UPDRAFT_RUNTIME_BASE_FLOATENVIRONMENT_H
#define UPDRAFT_RUNTIME_BASE_FLOATENVIRONMENT_H

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace updraft::runtime {

/// Makes its thread round to nearest, keep denormals and not trap. The destructor restores the
/// thread's own mode.
class DefaultFloatEnvironment {
public:
#if defined(__x86_64__)
  DefaultFloatEnvironment() : saved(_mm_getcsr()) { _mm_setcsr(allMasked); }
  ~DefaultFloatEnvironment() { _mm_setcsr(saved); }

private:
  static constexpr unsigned allMasked = 0x1f80;
  unsigned saved;
#elif defined(__aarch64__)
  DefaultFloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t(0)));
  }
  ~DefaultFloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved)); }

private:
  uint64_t saved;
#else
#error "the floating-point mode of this processor is not known"
#endif

public:
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_FLOATENVIRONMENT_H
