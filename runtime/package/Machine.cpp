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

#if defined(__x86_64__)
static Machine detect() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return {UPD_X86_64, __builtin_cpu_supports("avx512bf16") ? withBF16 : 4U};
  const uint32_t level = __builtin_cpu_supports("x86-64-v3")   ? 3
                         : __builtin_cpu_supports("x86-64-v2") ? 2
                                                               : 1;
  return {UPD_X86_64, level};
}
#elif defined(__aarch64__)
static Machine detect() {
  constexpr unsigned long sve = 1UL << 22; // HWCAP_SVE
  if ((getauxval(AT_HWCAP) & sve) == 0)
    return {UPD_AARCH64, 0};
  constexpr int getVectorLength = 51, lengthMask = 0xffff; // PR_SVE_GET_VL
  const int length = prctl(getVectorLength, 0, 0, 0, 0);
  return {UPD_AARCH64, length > 0 ? 8 * uint32_t(length & lengthMask) : 0};
}
#else
#error "packages have no code for this architecture"
#endif

const Machine &Machine::host() {
  static const Machine machine = detect();
  return machine;
}

bool Machine::multipliesBF16(uint32_t level) { return level == withBF16; }

Machine Machine::withoutBF16() const {
  return {architecture, architecture == UPD_X86_64 ? std::min(level, highestLevel) : level};
}

std::string Machine::name() const {
  if (architecture == UPD_X86_64)
    return level == withBF16 ? std::string(nameWithBF16) : fmt::format("x86-64-v{}", level);
  return level == 0 ? "aarch64" : fmt::format("aarch64+sve{}", level);
}

std::optional<Machine> Machine::named(std::string_view name) {
  Machine machine{UPD_AARCH64, 0};
  if (name == "aarch64")
    return machine;
  if (name == nameWithBF16)
    return Machine{UPD_X86_64, withBF16};
  std::string_view prefix = "aarch64+sve";
  if (!name.starts_with(prefix)) {
    prefix = "x86-64-v";
    machine.architecture = UPD_X86_64;
  }
  if (!name.starts_with(prefix))
    return std::nullopt;
  const char *end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + prefix.size(), end, machine.level);
  if (parsed.ec != std::errc() || parsed.ptr != end ||
      (machine.architecture == UPD_X86_64 && machine.level > highestLevel))
    return std::nullopt;
  return machine;
}
