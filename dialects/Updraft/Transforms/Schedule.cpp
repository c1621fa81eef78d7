//===- Schedule.cpp - From a rule to a plan -----------------------------------------------===//

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"

namespace updraft {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {
struct SchedulePass : impl::SchedulePassBase<SchedulePass> {
  void runOnOperation() override {}
};
} // namespace
} // namespace updraft
