//===- JitPlan.h - A plan's functions, compiled into this process -------------------*- C++ -*-===//
// Converts the text of a plan to the functions of updraft-c/kernel.h, for tests of machine code.

#ifndef UPDRAFT_UNITTESTS_TARGET_JITPLAN_H
#define UPDRAFT_UNITTESTS_TARGET_JITPLAN_H

#include "updraft-c/kernel.h"
#include "updraft/Target/CPUTarget.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::test {

class JitModule;

/// The loop shapes that this machine can run: its own, and narrower ones with a scalar remainder.
std::vector<CPUTarget> runnableTargets();

/// This machine with vectors of 128, 256 and 512 bits, and both kinds of remainder. Wider vectors
/// than the machine's are split.
std::vector<CPUTarget> allLoopShapes();

class JitPlan {
public:
  /// Compiles the only plan of `text`, which is named R. A failure fails the test, and makes the
  /// functions null. Functions that the plan lacks are null too.
  JitPlan(llvm::StringRef text, const CPUTarget &target);
  ~JitPlan();

  upd_initial_function initial = nullptr;
  upd_validate_function validate = nullptr;
  upd_prologue_function prologue = nullptr; ///< the first
  upd_sweep_function sweep = nullptr;       ///< the first
  std::vector<upd_prologue_function> prologues;
  std::vector<upd_sweep_function> sweeps;

private:
  std::unique_ptr<JitModule> process;
};

/// `text` with each name replaced by its value, everywhere.
std::string substitute(std::string text,
                       const std::vector<std::pair<std::string, std::string>> &values);

/// The diagnostics of lowering `text`, for plans that must be refused.
std::string loweringError(llvm::StringRef text);

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_JITPLAN_H
