//===- PlanRunner.h - A compiled plan without the runtime ---------------------------*- C++ -*-===//
// Schedules and compiles a rule given in the dialect, and runs its host functions and passes one
// after the other as updraft-c/kernel.h says, on one thread. What fails here is the compiler's; the
// runtime is not involved.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_PLANRUNNER_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_PLANRUNNER_H

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Reference/Interpreter.h"
#include "updraft/Target/CPUTarget.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace updraft::differential {

/// What a rule in the dialect is stepped over.
struct PlanCase {
  std::string source; // one rule, named R
  CPUTarget target = CPUTarget::host();
  std::vector<reference::Shape> tensors;
  int steps = 3;
  uint64_t seed = 0;
};

/// Steps the tensors, as one group, by the compiled plan and by the interpreter, and compares every
/// bit after every step.
testing::AssertionResult planEqualsInterpreted(const PlanCase &planCase);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_PLANRUNNER_H
