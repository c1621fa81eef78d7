//===- Kernels.h - The machine code of one rule -------------------------------------*- C++ -*-===//
// A compiled rule as the runtime uses it: the functions of updraft-c/kernel.h and their interface.

#ifndef UPDRAFT_RUNTIME_BASE_KERNELS_H
#define UPDRAFT_RUNTIME_BASE_KERNELS_H

#include "runtime/base/RuleInterface.h"
#include "updraft-c/kernel.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace updraft::runtime {

/// One function for each prologue and pass of a plan's interface.
struct PlanFunctions {
  std::vector<upd_prologue_function> prologues;
  std::vector<upd_pass_function> passes;
};

/// A kernel as the emulator runs it: a function of the addresses of the kernel's arguments.
using EmulatedKernel = void (*)(void **arguments);

/// The kernels of a rule that was compiled for a GPU (updraft-c/gpu_kernel.h), in one of two forms.
struct GPUKernels {
  std::string ptx;
  std::map<std::string, EmulatedKernel, std::less<>> emulated; ///< by name
};

/// Immutable once made, and so shared between threads. No function is null; `plans` are those of
/// the interface, or none where kernels as PTX stand in for them.
struct Kernels {
  RuleInterface interface;
  std::string description; ///< the interface as the compiler wrote it: JSON
  upd_initial_function initial = nullptr;
  upd_validate_function validate = nullptr;
  std::vector<PlanFunctions> plans;
  GPUKernels gpu;
  /// Keeps the memory of the functions.
  std::shared_ptr<const void> code;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_KERNELS_H
