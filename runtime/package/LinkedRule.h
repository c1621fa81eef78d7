//===- LinkedRule.h - The kernels of a rule that is linked into the program ---------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_LINKEDRULE_H
#define UPDRAFT_RUNTIME_PACKAGE_LINKEDRULE_H

#include "runtime/base/Kernels.h"
#include "updraft-c/linked_rule.h"

#include <span>

namespace updraft::package {

/// Makes the kernels from the newest of the targets that this process's CPU runs. The targets are
/// not null. UPD_UNSUPPORTED: it runs none of them.
runtime::Status linkRule(std::span<const upd_linked_rule> targets,
                         std::shared_ptr<const runtime::Kernels> &kernels);

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_LINKEDRULE_H
