//===- RuleChecks.h - Whether a rule's interface is consistent ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_RULECHECKS_H
#define UPDRAFT_RUNTIME_BASE_RULECHECKS_H

#include "runtime/base/RuleInterface.h"

namespace updraft::runtime {

/// Checks everything that the engine relies on, because the engine doesn't check the numbers of
/// streams, states and reductions. Returns the first problem, or nothing.
std::string problemOf(const RuleInterface &rule);

/// As above, for one of the plans. The rest of the rule has no problem.
std::string problemOf(const RuleInterface &rule, const PlanInterface &plan);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_RULECHECKS_H
