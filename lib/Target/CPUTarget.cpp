//===- CPUTarget.cpp - The compiler's description of a CPU ------------------------------------===//
// Detects the host's features; the named CPUs are fixed.

#include "updraft/Target/CPUTarget.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <vector>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace updraft {
namespace {

llvm::ArrayRef<CPUTarget> knownTargets() {
  static const CPUTarget targets[] = {
      {"x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2", "", 128, false},
      {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", 256, false},
      {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", "", 512, true},
      {"x86-64-v4+bf16", "x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512bf16", 512, true, true},
      {"aarch64", "aarch64-unknown-linux-gnu", "generic", "+fp-armv8,+neon", 128, false},
      {"aarch64+bf16", "aarch64-unknown-linux-gnu", "generic", "+bf16,+fp-armv8,+neon", 128, false,
       true},
      {"aarch64+sve128", "aarch64-unknown-linux-gnu", "generic", "+fp-armv8,+neon,+sve", 128,
       false},
      {"aarch64+sve256", "aarch64-unknown-linux-gnu", "generic", "+fp-armv8,+neon,+sve", 256,
       false},
      {"aarch64+sve512", "aarch64-unknown-linux-gnu", "generic", "+fp-armv8,+neon,+sve", 512,
       false},
  };
  return targets;
}

// Uses wide registers only with the instructions that rules may need at that width.
void setVectorUnit(CPUTarget &target, const llvm::StringMap<bool> &features) {
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  if (hasAll({"avx512f", "avx512bw", "avx512dq", "avx512vl"})) {
    target.vectorBits = 512;
    target.maskRemainder = true;
    target.multipliesBF16 = features.lookup("avx512bf16");
  } else if (hasAll({"avx2", "fma", "f16c"})) {
    target.vectorBits = 256;
  } else {
    target.multipliesBF16 = features.lookup("bf16");
  }
}

/// Whether the host's instructions for bf16 take less time than fused multiply-adds. With
/// `vdpbf16ps`, Intel's CPUs do half as many operations per cycle.
bool isFastWithBF16() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd");
#else
  return true;
#endif
}

/// Returns the features of the host. LLVM doesn't detect AArch64's BF16.
llvm::StringMap<bool> hostFeatures() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long bf16 = 1UL << 14; // HWCAP2_BF16
  features["bf16"] = (getauxval(AT_HWCAP2) & bf16) != 0;
#endif
  return features;
}

} // namespace

/// Detects the processor. This is slow in a virtual machine, where each query traps.
static CPUTarget detectHost() {
  CPUTarget target;
  target.name = "host";
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = hostFeatures();
  std::vector<std::string> list;
  for (const auto &feature : features)
    list.push_back((feature.second ? "+" : "-") + feature.first().str());
  // A string map is unordered, and the feature string is part of cache keys.
  std::sort(list.begin(), list.end(),
            [](const std::string &a, const std::string &b) { return a.substr(1) < b.substr(1); });
  target.features = llvm::join(list, ",");
  setVectorUnit(target, features);
  target.multipliesBF16 &= isFastWithBF16();
  return target;
}

CPUTarget CPUTarget::host() {
  static const CPUTarget target = detectHost();
  return target;
}

llvm::Expected<CPUTarget> CPUTarget::named(llvm::StringRef name) {
  if (name == "host")
    return host();
  for (const CPUTarget &target : knownTargets())
    if (name == target.name)
      return target;
  return llvm::createStringError(
      llvm::formatv("unknown target `{0}`; known are `{1}`", name, llvm::join(names(), "`, `"))
          .str());
}

std::vector<llvm::StringRef> CPUTarget::names() {
  std::vector<llvm::StringRef> names{"host"};
  for (const CPUTarget &target : knownTargets())
    names.push_back(target.name);
  return names;
}

std::string CPUTarget::key() const {
  return llvm::formatv("{0}|{1}|{2}|{3}|{4}", triple, cpu, features, vectorBits,
                       maskRemainder ? "masked" : "scalar");
}

} // namespace updraft
