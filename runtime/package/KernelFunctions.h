//===- KernelFunctions.h - The functions of a rule, from a list of addresses --------*- C++ -*-===//
// Packages and linked rules list the functions of a rule in one order: R_initial, R_validate, then
// the prologues and sweeps of each plan in the order in which they run, then R_product and R_mirror
// if a plan has products, then R_bf16_product if one is in bf16.

#ifndef UPDRAFT_RUNTIME_PACKAGE_KERNELFUNCTIONS_H
#define UPDRAFT_RUNTIME_PACKAGE_KERNELFUNCTIONS_H

#include "runtime/base/Kernels.h"

#include <type_traits>

namespace updraft::package {

/// The number of functions in the list.
inline size_t functionCount(const runtime::RuleInterface &rule) {
  size_t count = 2 + (rule.multiplies() ? 2 : 0) + (rule.hasBF16Products() ? 1 : 0);
  for (const runtime::PlanInterface &plan : rule.plans)
    count += plan.sweeps.size() + plan.prologues;
  return count;
}

/// Sets the functions of the kernels. If they are a GPU's, only those that stay on the host. `next`
/// returns the addresses (uintptr_t) of the list, one for each call.
template <typename Next>
void setFunctions(const runtime::RuleInterface &rule, Next next, runtime::Kernels &kernels) {
  auto take = [&](auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(next());
  };
  take(kernels.initial);
  take(kernels.validate);
  const bool isForGPU = !kernels.gpu.ptx.empty();
  for (const runtime::PlanInterface &plan : rule.plans) {
    runtime::PlanFunctions functions;
    for (const runtime::StageInterface &stage : plan.sequence)
      if (stage.isSweep())
        take(functions.sweeps.emplace_back());
      else if (stage.isPrologue())
        take(functions.prologues.emplace_back());
    if (isForGPU)
      kernels.hostPrologues.push_back(plan.hasHostConditions() ? functions.prologues.front()
                                                               : nullptr);
    else
      kernels.plans.push_back(std::move(functions));
  }
  if (isForGPU)
    return;
  if (rule.multiplies()) {
    take(kernels.product);
    take(kernels.mirror);
  }
  if (rule.hasBF16Products())
    take(kernels.bf16Product);
}

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_KERNELFUNCTIONS_H
