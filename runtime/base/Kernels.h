//===- Kernels.h - The machine code of one rule -------------------------------------*- C++ -*-===//
// The compiled functions of a rule (updraft-c/kernel.h) and their interface.

#ifndef UPDRAFT_RUNTIME_BASE_KERNELS_H
#define UPDRAFT_RUNTIME_BASE_KERNELS_H

#include "runtime/base/RuleInterface.h"
#include "updraft-c/kernel.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace updraft::gpu {
class Device;
}

namespace updraft::runtime {

/// One function for each prologue and sweep of a plan.
struct PlanFunctions {
  std::vector<upd_prologue_function> prologues;
  std::vector<upd_sweep_function> sweeps;
};

/// A kernel for the emulator: a function that takes the addresses of the kernel's arguments.
using EmulatedKernel = void (*)(void **arguments);

/// The kernels of a rule that was compiled for a GPU (updraft-c/gpu_kernel.h), in one of two forms.
struct GPUKernels {
  std::string ptx;
  std::map<std::string, EmulatedKernel, std::less<>> emulated; ///< by name
  /// Opens an emulator for these kernels, each time a new one; null for PTX.
  std::shared_ptr<gpu::Device> (*openEmulator)() = nullptr;
};

/// Immutable, so threads may share it. No function is null unless it says so. `plans` corresponds
/// to the interface, or is empty if `gpu` has kernels as PTX instead.
struct Kernels {
  RuleInterface interface;
  std::string descriptor; ///< of the interface (updraft-c/descriptor.h)
  upd_initial_function initial = nullptr;
  upd_validate_function validate = nullptr;
  std::vector<PlanFunctions> plans;
  upd_product_function product = nullptr; ///< these two are null if no plan has products
  upd_mirror_function mirror = nullptr;
  upd_product_function bf16Product = nullptr; ///< null if no product is in bf16
  GPUKernels gpu;
  /// For GPUs, by plan: the first prologue as a function of the host, which finds out which calls a
  /// step needs. Null if no call of the host has a condition.
  std::vector<upd_prologue_function> hostPrologues;
  /// Owns the memory of the functions.
  std::shared_ptr<const void> code;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_KERNELS_H
