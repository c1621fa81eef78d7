//===- Kernels.h - The machine code of one rule -------------------------------------*- C++ -*-===//
// A compiled rule as the runtime uses it: the functions of updraft-c/kernel.h and their interface.

#ifndef UPDRAFT_RUNTIME_BASE_KERNELS_H
#define UPDRAFT_RUNTIME_BASE_KERNELS_H

#include "runtime/base/RuleInterface.h"
#include "updraft-c/kernel.h"

#include <memory>
#include <vector>

namespace updraft::runtime {

/// Immutable once made, and so shared between threads. No function is null; `passes` has one
/// function per pass of the interface.
struct Kernels {
  RuleInterface interface;
  upd_initial_function initial = nullptr;
  upd_validate_function validate = nullptr;
  upd_prologue_function prologue = nullptr;
  std::vector<upd_pass_function> passes;
  /// Keeps the memory of the functions.
  std::shared_ptr<const void> code;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_KERNELS_H
