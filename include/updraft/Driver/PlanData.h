//===- PlanData.h - A plan as JSON --------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_PLANDATA_H
#define UPDRAFT_DRIVER_PLANDATA_H

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/Support/JSON.h"

namespace updraft {

/// Returns the stages of a plan with their streams and costs: the member `plans` of a report
/// (docs/report-format.md).
llvm::json::Object planData(PlanOp plan, bool isForGPU);

} // namespace updraft

#endif // UPDRAFT_DRIVER_PLANDATA_H
