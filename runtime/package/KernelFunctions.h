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

/// Sets the functions of the kernels, without those of plans if the kernels are a GPU's. `next`
/// returns the addresses (uintptr_t) of the list, one for each call.
template <typename Next>
void setFunctions(const runtime::RuleInterface &rule, Next next, runtime::Kernels &kernels) {
  auto take = [&](auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(next());
  };
  take(kernels.initial);
  take(kernels.validate);
  if (!kernels.gpu.ptx.empty())
    return;
  for (const runtime::PlanInterface &plan : rule.plans) {
    runtime::PlanFunctions &functions = kernels.plans.emplace_back();
    for (const runtime::StageInterface &stage : plan.sequence)
      if (stage.isSweep())
        take(functions.sweeps.emplace_back());
      else if (stage.isPrologue())
        take(functions.prologues.emplace_back());
  }
  if (rule.multiplies()) {
    take(kernels.product);
    take(kernels.mirror);
  }
  if (rule.hasBF16Products())
    take(kernels.bf16Product);
}

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_KERNELFUNCTIONS_H
