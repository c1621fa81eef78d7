//===- FMAPeak.cpp - The arithmetic that a core can do ----------------------------------------===//

#include "FMAPeak.h"

#include "runtime/package/Machine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace updraft;

namespace {
using Vector16 = float __attribute__((vector_size(64)));
using Vector8 = float __attribute__((vector_size(32)));
using Vector4 = float __attribute__((vector_size(16)));

/// Independent sums: more than a core's FMA units have in flight, and fewer than its registers.
constexpr int sums = 12;
constexpr int64_t rounds = 1000;

// The compiler must neither know these nor leave out what depends on them.
volatile float factorOfRounds = 0.5f, termOfRounds = 1, resultOfRounds = 0;

/// 1000 rounds of `sums` FMAs.
template <typename Vector> [[gnu::always_inline]] inline void run() {
  const Vector factor = Vector{} + factorOfRounds, term = Vector{} + termOfRounds;
  Vector values[sums];
  for (int i = 0; i < sums; ++i)
    values[i] = term + static_cast<float>(i);
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int i = 0; i < sums; ++i)
      values[i] = values[i] * factor + term;
  Vector total = values[0];
  for (int i = 1; i < sums; ++i)
    total += values[i];
  resultOfRounds = total[0];
}

/// Calls `function`, which does `each` operations, until `operations` are done.
int64_t repeat(void (*function)(), int64_t each, int64_t operations) {
  int64_t done = 0;
  while (done < operations) {
    function();
    done += each;
  }
  return done;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void runAVX512() { run<Vector16>(); }
[[gnu::target("avx2,fma")]] void runAVX2() { run<Vector8>(); }

[[gnu::target("avx512f,avx512bf16")]] void runPairs() {
  const auto pairs = reinterpret_cast<__m512bh>(Vector16{} + factorOfRounds);
  __m512 values[sums];
  for (int i = 0; i < sums; ++i)
    values[i] = Vector16{} + termOfRounds + static_cast<float>(i);
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int i = 0; i < sums; ++i)
      values[i] = _mm512_dpbf16_ps(values[i], pairs, pairs);
  __m512 total = values[0];
  for (int i = 1; i < sums; ++i)
    total += values[i];
  resultOfRounds = total[0];
}
#endif
} // namespace

bool bench::multipliesBF16() {
#if defined(__x86_64__)
  const package::Machine &host = package::Machine::host();
  return package::Machine::multipliesBF16(host.architecture, host.level);
#else
  return false;
#endif
}

int64_t bench::multiplyAndAddPairs(int64_t operations) {
#if defined(__x86_64__)
  return repeat(runPairs, int64_t(4) * 16 * sums * rounds, operations);
#else
  return operations;
#endif
}

int64_t bench::multiplyAndAdd(int64_t operations) {
  void (*function)() = run<Vector4>;
  int64_t width = 4;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    function = runAVX512;
    width = 16;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    function = runAVX2;
    width = 8;
  }
#endif
  return repeat(function, 2 * width * sums * rounds, operations);
}
