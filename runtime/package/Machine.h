//===- Machine.h - Which images a machine can run -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_MACHINE_H
#define UPDRAFT_RUNTIME_PACKAGE_MACHINE_H

#include "updraft-c/package_format.h"

#include <optional>
#include <string>
#include <string_view>

namespace updraft::package {

/// The CPU of this process. `level` is as in upd_package_image, 1 for an x86-64 CPU below level 2.
struct Machine {
  upd_architecture architecture;
  uint32_t level;

  /// Detected once.
  static const Machine &host();

  /// Whether it runs the code of an image for a CPU.
  bool runs(upd_architecture code, uint32_t codeLevel) const {
    if (code != architecture)
      return false;
    if (code == UPD_X86_64)
      return codeLevel <= level;
    // SVE code of a fixed length runs only at that length.
    const uint32_t length = vectorBits(codeLevel);
    return (length == 0 || length == vectorBits(level)) &&
           (!multipliesBF16(code, codeLevel) || multipliesBF16(architecture, level));
  }

  /// Whether code of a level has instructions for bf16 products.
  static bool multipliesBF16(upd_architecture architecture, uint32_t level);
  /// The target to compile for. For `bf16Products`, it has the instructions of this CPU for them,
  /// on AArch64 in place of SVE.
  Machine target(bool bf16Products) const;

  /// As in `updraftc --target`: "x86-64-v3", "aarch64+sve256". An AArch64 CPU with SVE and BF16 is
  /// "aarch64+sve256+bf16"; there is code for one of these at a time.
  std::string name() const;

  /// The inverse of `name`; nothing for another text.
  static std::optional<Machine> named(std::string_view name);

private:
  /// The length of SVE vectors in a level of AArch64.
  static uint32_t vectorBits(uint32_t level);
};

/// Returns the code of the highest level for which `fits` returns true, or null if there is none.
template <typename Codes, typename Fits> auto newest(const Codes &codes, Fits fits) {
  const typename Codes::value_type *found = nullptr;
  for (const auto &code : codes)
    if (fits(code) && (!found || code.level > found->level))
      found = &code;
  return found;
}

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_MACHINE_H
