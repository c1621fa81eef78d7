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
    // SVE code of a fixed length runs only at that length.
    return code == UPD_AARCH64 ? codeLevel == 0 || codeLevel == level : codeLevel <= level;
  }

  /// Whether code of a level of x86-64 has instructions for bf16 products.
  static bool multipliesBF16(uint32_t level);
  /// The same CPU if it didn't.
  Machine withoutBF16() const;

  /// As in `updraftc --target`: "x86-64-v3", "aarch64+sve256".
  std::string name() const;

  /// The inverse of `name`; nothing for another text.
  static std::optional<Machine> named(std::string_view name);
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
