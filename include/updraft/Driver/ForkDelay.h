//===- ForkDelay.h - The parts of a compilation that no fork may cut in two ---------*- C++ -*-===//
// A child of fork has only the thread that forked. A lock that another thread held at that moment
// stays locked in the child, and an initialisation that another thread had begun never ends. glibc
// repairs its own locks in the child, those of `malloc` included; nobody repairs LLVM's and MLIR's.
// A compilation takes those only while it makes what is kept for the next one (contexts, targets,
// registries of passes), while it does something for the first time in the process (static
// variables of functions), and while it links. These parts take milliseconds, so a fork waits for
// them. The long parts, on modules that nobody else has, use nothing but `malloc`: a fork does not
// wait for them, and the child never looks at these modules.

#ifndef UPDRAFT_DRIVER_FORKDELAY_H
#define UPDRAFT_DRIVER_FORKDELAY_H

#include <optional>
#include <string>

namespace updraft {

/// Makes forks wait while it lives. If a fork is under way, construction waits for it, unless the
/// thread already has a delay. May nest.
class ForkDelay {
public:
  ForkDelay();
  ~ForkDelay();
  ForkDelay(const ForkDelay &) = delete;
  ForkDelay &operator=(const ForkDelay &) = delete;

  /// For a thread that works for another, which waits for it: it inherits that thread's delays.
  static bool isHeldByThread();
  static void continueForThread();

  /// Stops new delays, and waits until other threads have none, for at most 0.8 s: `fork` must
  /// return within a second. Returns whether they have none. Only the first compilation for a
  /// target, of a large rule, delays longer. Then forking is better than waiting: the child hangs
  /// only if that compilation holds a lock at this moment, which takes microseconds.
  static bool holdOff();
  /// After the fork.
  static void resume();
  static void resumeInChild();
};

/// Makes forks wait while `thing` is done for the first time in this process, such as the first
/// compilation for a target. Later times do not delay forks.
class FirstTimeDelay {
public:
  explicit FirstTimeDelay(std::string thing);
  /// Records that it is done. Without this call, the next time is a first time again.
  void finish();

private:
  std::string thing;
  std::optional<ForkDelay> delay;
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_FORKDELAY_H
