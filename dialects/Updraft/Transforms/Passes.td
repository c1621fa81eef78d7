//===- Passes.td - Passes from rule to plan ---------------------------------*- tablegen -*-===//

#ifndef UPDRAFT_TRANSFORMS_PASSES_TD
#define UPDRAFT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"updraft-schedule", "::mlir::ModuleOp"> {
  let summary = "Turn each rule into a plan: host functions and passes over data";
  let dependentDialects = ["::updraft::UpdraftDialect"];
}

#endif // UPDRAFT_TRANSFORMS_PASSES_TD
