//===- JointStep.cpp - Several groups stepped, all or none ------------------------------------===//

#include "runtime/torch/JointStep.h"

#include <c10/util/ScopeExit.h>

using namespace updraft::torch_adapter;

int64_t JointStep::step() {
  size_t begin = 0, end = 0; // those that are prepared and not applied
  auto undo = c10::make_scope_exit([&] {
    for (; begin < end; ++begin)
      steppers[begin]->abandon();
  });
  for (; end < steppers.size(); ++end)
    if (!steppers[end]->prepare())
      return GroupStepper::Moved;
  bool anyFresh = false;
  while (begin < end)
    anyFresh |= steppers[begin++]->apply(/*countVersions=*/true) == GroupStepper::Fresh;
  return anyFresh ? GroupStepper::Fresh : GroupStepper::Done;
}
