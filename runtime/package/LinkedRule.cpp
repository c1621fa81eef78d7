//===- LinkedRule.cpp - The kernels of a rule that is linked into the program -----------------===//

#include "runtime/package/LinkedRule.h"

#include "runtime/package/KernelFunctions.h"
#include "runtime/package/Machine.h"

#include <fmt/format.h>

using namespace updraft;
using package::Machine;
using runtime::Status;

namespace {
struct LinkedCode {
  const upd_linked_rule *rule;
  uint32_t level;
};
} // namespace

/// Reads the interface of the code for one target.
static Status readInterface(const upd_linked_rule &linked, runtime::Kernels &kernels) {
  kernels.descriptor.assign(reinterpret_cast<const char *>(linked.descriptor),
                            linked.descriptor->size);
  return runtime::RuleInterface::read(kernels.descriptor, kernels.interface);
}

static Status noTarget(std::span<const upd_linked_rule> targets) {
  runtime::Kernels first;
  if (Status status = readInterface(targets.front(), first); !status.ok())
    return status;
  std::string list;
  for (const upd_linked_rule &linked : targets)
    list += fmt::format("{}`{}`", list.empty() ? "" : ", ", linked.target);
  return {UPD_UNSUPPORTED,
          fmt::format("rule `{}` has no code for this CPU, which supports `{}`; it has {}",
                      first.interface.name, Machine::host().name(), list)};
}

Status package::linkRule(std::span<const upd_linked_rule> targets,
                         std::shared_ptr<const runtime::Kernels> &kernels) {
  std::vector<LinkedCode> runnable;
  for (const upd_linked_rule &linked : targets) {
    const auto code = Machine::named(linked.target);
    if (code && Machine::host().runs(code->architecture, code->level))
      runnable.push_back({&linked, code->level});
  }
  const LinkedCode *best = newest(runnable, [](const LinkedCode &) { return true; });
  if (!best)
    return noTarget(targets);
  auto linked = std::make_shared<runtime::Kernels>();
  if (Status status = readInterface(*best->rule, *linked); !status.ok())
    return status;
  if (best->rule->function_count != functionCount(linked->interface))
    return runtime::invalidArgument(
        fmt::format("the code of rule `{}` for `{}` has {} functions, and its descriptor {}",
                    linked->interface.name, best->rule->target, best->rule->function_count,
                    functionCount(linked->interface)));
  auto *const *next = best->rule->functions;
  setFunctions(linked->interface, [&] { return reinterpret_cast<uintptr_t>(*next++); }, *linked);
  kernels = std::move(linked);
  return {};
}
