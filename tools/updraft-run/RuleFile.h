//===- RuleFile.h - The rule that updraft-run applies -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_RULEFILE_H
#define UPDRAFT_TOOLS_RUN_RULEFILE_H

#include "RunOptions.h"
#include "runtime/base/Status.h"

namespace updraft::run {

/// Reads the rule's text or the package into `options.source`. If a signature is required, refuses
/// anything but a package that the key has signed.
runtime::Status readRule(RunOptions &options);

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_RULEFILE_H
