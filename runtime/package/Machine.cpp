//===- Machine.cpp - Which images a machine can run -------------------------------------------===//

#include "runtime/package/Machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#if defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

using namespace updraft;
using package::Machine;

static constexpr uint32_t highestLevel = 4, withBF16 = 5;
static constexpr std::string_view nameWithBF16 = "x86-64-v4+bf16";

/// A bit of a level of AArch64, above all lengths of SVE vectors: bf16 products take most of the
/// time of a rule that has them.
static constexpr uint32_t armBF16 = 1U << 16;
static constexpr std::string_view armName = "aarch64", sveSuffix = "+sve", bf16Suffix = "+bf16";

#if defined(__x86_64__)
static Machine detect() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) {
    // As in lib/Target/CPUTarget.cpp: Intel's CPUs do half as many operations per cycle with
    // AVX512-BF16 as with fused multiply-adds.
    const bool isFastWithBF16 = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("amd");
    return {UPD_X86_64, isFastWithBF16 ? withBF16 : highestLevel};
  }
  const uint32_t level = __builtin_cpu_supports("x86-64-v3")   ? 3
                         : __builtin_cpu_supports("x86-64-v2") ? 2
                                                               : 1;
  return {UPD_X86_64, level};
}
#elif defined(__aarch64__)
static Machine detect() {
  constexpr unsigned long sve = 1UL << 22, bf16 = 1UL << 14; // HWCAP_SVE, HWCAP2_BF16
  uint32_t level = (getauxval(AT_HWCAP2) & bf16) != 0 ? armBF16 : 0;
  if ((getauxval(AT_HWCAP) & sve) == 0)
    return {UPD_AARCH64, level};
  constexpr int getVectorLength = 51, lengthMask = 0xffff; // PR_SVE_GET_VL
  const int length = prctl(getVectorLength, 0, 0, 0, 0);
  if (length > 0)
    level += 8 * uint32_t(length & lengthMask);
  return {UPD_AARCH64, level};
}
#else
#error "packages have no code for this architecture"
#endif

const Machine &Machine::host() {
  static const Machine machine = detect();
  return machine;
}

uint32_t Machine::vectorBits(uint32_t level) { return level & ~armBF16; }

bool Machine::multipliesBF16(upd_architecture architecture, uint32_t level) {
  return architecture == UPD_AARCH64 ? (level & armBF16) != 0
                                     : architecture == UPD_X86_64 && level == withBF16;
}

Machine Machine::target(bool bf16Products) const {
  if (architecture == UPD_X86_64)
    return {architecture, bf16Products ? level : std::min(level, highestLevel)};
  return {architecture,
          bf16Products && multipliesBF16(architecture, level) ? armBF16 : vectorBits(level)};
}

std::string Machine::name() const {
  if (architecture == UPD_X86_64)
    return level == withBF16 ? std::string(nameWithBF16) : fmt::format("x86-64-v{}", level);
  const uint32_t bits = vectorBits(level);
  return fmt::format("{}{}{}", armName, bits == 0 ? "" : fmt::format("{}{}", sveSuffix, bits),
                     multipliesBF16(architecture, level) ? bf16Suffix : "");
}

/// Reads all of a number.
static bool read(std::string_view text, uint32_t &number) {
  const char *end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::optional<Machine> Machine::named(std::string_view name) {
  constexpr std::string_view x86Prefix = "x86-64-v";
  Machine machine{UPD_X86_64, 0};
  if (name == nameWithBF16)
    return Machine{UPD_X86_64, withBF16};
  if (name.starts_with(x86Prefix)) {
    name.remove_prefix(x86Prefix.size());
    if (!read(name, machine.level) || machine.level > highestLevel)
      return std::nullopt;
    return machine;
  }
  if (!name.starts_with(armName))
    return std::nullopt;
  name.remove_prefix(armName.size());
  machine.architecture = UPD_AARCH64;
  const bool hasBF16 = name.ends_with(bf16Suffix);
  if (hasBF16)
    name.remove_suffix(bf16Suffix.size());
  if (name.starts_with(sveSuffix)) {
    name.remove_prefix(sveSuffix.size());
    if (!read(name, machine.level) || machine.level == 0 || machine.level >= armBF16)
      return std::nullopt;
  } else if (!name.empty()) {
    return std::nullopt;
  }
  machine.level += hasBF16 ? armBF16 : 0;
  return machine;
}
