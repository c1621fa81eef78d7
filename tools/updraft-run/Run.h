//===- Run.h - Applying a rule to the parameters of a file --------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_RUN_H
#define UPDRAFT_TOOLS_RUN_RUN_H

#include "ProbeTable.h"
#include "RunOptions.h"
#include "TensorFile.h"

namespace updraft::run {

/// Steps the parameters in place. Those whose tensors are stored alike share one compiled rule; all
/// are validated before the first is written. The contents are then of the rule. Probes are
/// added to the table after each step.
runtime::Status run(const RunOptions &options, FileContents &contents, ProbeTable &table);

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_RUN_H
