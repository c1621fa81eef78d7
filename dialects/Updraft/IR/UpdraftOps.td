//===- UpdraftOps.td - All operations of the dialect ---------------------------*- tablegen -*-===//

#ifndef UPDRAFT_IR_OPS_TD
#define UPDRAFT_IR_OPS_TD

include "Updraft/IR/UpdraftAccessOps.td"
include "Updraft/IR/UpdraftRuleOps.td"
include "Updraft/IR/UpdraftPlanOps.td"

#endif // UPDRAFT_IR_OPS_TD
