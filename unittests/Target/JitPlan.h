//===- JitPlan.h - A plan's functions, compiled into this process -------------------*- C++ -*-===//
// The harness of the tests of machine code: the text of a plan in, the functions of
// updraft-c/kernel.h out.

#ifndef UPDRAFT_UNITTESTS_TARGET_JITPLAN_H
#define UPDRAFT_UNITTESTS_TARGET_JITPLAN_H

#include "updraft-c/kernel.h"
#include "updraft/Target/CPUTarget.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::test {

/// The loop shapes that this machine can run: its own, and narrower ones with a scalar remainder.
std::vector<CPUTarget> runnableTargets();

/// This machine with vectors of 128, 256 and 512 bits, and both kinds of remainder: what it has no
/// instructions for is several.
std::vector<CPUTarget> allLoopShapes();

class JitPlan {
public:
  /// Compiles the only plan of `text`, which is named R. A failure fails the test; the functions
  /// are then null, as are those that the plan does not have.
  JitPlan(llvm::StringRef text, const CPUTarget &target);
  ~JitPlan();

  upd_initial_function initial = nullptr;
  upd_validate_function validate = nullptr;
  upd_prologue_function prologue = nullptr; ///< the first
  upd_pass_function pass = nullptr;         ///< the first
  std::vector<upd_prologue_function> prologues;
  std::vector<upd_pass_function> passes;

private:
  struct Process;
  std::unique_ptr<Process> process;
};

/// `text` with each name replaced by its value, wherever it occurs.
std::string substitute(std::string text,
                       const std::vector<std::pair<std::string, std::string>> &values);

/// What the diagnostics of lowering `text` say, for plans that must be refused.
std::string loweringError(llvm::StringRef text);

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_JITPLAN_H
