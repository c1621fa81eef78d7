//===- ProbeTable.h - The probes of all steps, as CSV -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_PROBETABLE_H
#define UPDRAFT_TOOLS_RUN_PROBETABLE_H

#include "runtime/base/RuleInterface.h"
#include "runtime/base/Status.h"
#include "updraft-c/probes.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace updraft::run {

/// A line for each parameter and step: `step,parameter,PROBE,…`. Each bucket of a histogram has a
/// column, such as `sizes[0.01..1)`.
class ProbeTable {
public:
  /// Adds the rows that `optimizer` has added since `cursor`. `names` are those of its parameters.
  runtime::Status add(const runtime::RuleInterface &rule, const upd_optimizer *optimizer,
                      std::span<const std::string *const> names, uint64_t &cursor);

  /// With the line of names; empty if the rule has no probes.
  const std::string &text() const { return lines; }

private:
  std::string lines;
};

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_PROBETABLE_H
