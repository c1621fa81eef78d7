//===- PlanRunner.h - A compiled plan without the runtime ---------------------------*- C++ -*-===//
// Schedules and compiles a rule in the dialect, and runs its host functions and sweeps in sequence
// on one thread, as updraft-c/kernel.h defines. A failure here is in the compiler, because the
// runtime isn't used.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_PLANRUNNER_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_PLANRUNNER_H

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Reference/Interpreter.h"
#include "updraft/Target/CPUTarget.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace updraft::differential {

/// A rule in the dialect, and the tensors to step.
struct PlanCase {
  std::string source; // one rule, named R
  CPUTarget target = CPUTarget::host();
  std::vector<reference::Shape> tensors;
  int steps = 3;
  uint64_t seed = 0;
};

/// Steps the tensors, as one group, with the compiled plan and with the interpreter, and compares
/// every bit after every step.
testing::AssertionResult planEqualsInterpreted(const PlanCase &planCase);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_PLANRUNNER_H
