//===- CPUTarget.h - The compiler's description of a CPU ----------------------------*- C++ -*-===//
// The CPUs that Updraft supports, by name, and this machine's CPU.

#ifndef UPDRAFT_TARGET_CPUTARGET_H
#define UPDRAFT_TARGET_CPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace updraft {

/// A CPU as a plain value. CPUs are equal if their `key`s are.
struct CPUTarget {
  std::string name;     ///< "host", or as given to `named`
  std::string triple;   ///< LLVM's, such as x86_64-unknown-linux-gnu
  std::string cpu;      ///< LLVM's name of the model or level
  std::string features; ///< LLVM's feature string, "+avx2,-sse4a"; sorted
  unsigned vectorBits = 128;
  bool maskRemainder = false; ///< has masked loads and stores of every element size
  /// Adds up products of pairs of bf16 in f32: AVX512-BF16 of AMD, or FEAT_BF16 of AArch64. Hosts
  /// of Intel with AVX512-BF16 multiply in f32, which takes them half as long. Intel's AMX and
  /// AArch64's BFMMLA aren't used. Their operands are small matrices, which would need panels and
  /// kernels of their own. BFMMLA does twice as many products as BFDOT, and on some cores in
  /// the same time. BFDOT isn't used in SVE vectors, because Neoverse V1 has as many lanes for it
  /// in each cycle with NEON, and the SVE vectors of N2 and V2 have 128 bits.
  bool multipliesBF16 = false;

  /// This machine, with exactly the features it has.
  static CPUTarget host();

  /// "host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "aarch64",
  /// "aarch64+bf16", or with SVE vectors of one length "aarch64+sve128", "aarch64+sve256" or
  /// "aarch64+sve512". The error for another name lists them.
  static llvm::Expected<CPUTarget> named(llvm::StringRef name);
  static std::vector<llvm::StringRef> names();

  /// Everything that affects the machine code, on one line: for cache keys.
  std::string key() const;
};

} // namespace updraft

#endif // UPDRAFT_TARGET_CPUTARGET_H
