//===- ForkDelay.h - Delays forks during a compilation ------------------------------*- C++ -*-===//
// A child of fork has only the thread that forked. A lock that another thread held at that moment
// stays locked in the child, and an initialisation that another thread began never ends. In the
// child, glibc repairs its own locks, including those of `malloc`; nothing repairs those of LLVM
// and MLIR.
//
// Linking takes such locks. Compiling takes them when it creates objects that later compilations
// reuse, and when it initialises a function's static variables on first use. Any feature of a rule
// may be the first use of such a variable, so forks wait for every compilation.

#ifndef UPDRAFT_DRIVER_FORKDELAY_H
#define UPDRAFT_DRIVER_FORKDELAY_H

namespace updraft {

/// Delays forks during its lifetime. If a fork is in progress, the constructor waits for it, unless
/// the thread already has a delay. May nest.
class ForkDelay {
public:
  ForkDelay();
  ~ForkDelay();
  ForkDelay(const ForkDelay &) = delete;
  ForkDelay &operator=(const ForkDelay &) = delete;

  /// Blocks new delays, and waits up to 0.8 s until other threads have none: `fork` must return
  /// within a second. Returns whether they have none. Only large rules compile for longer. Forking
  /// is then better than waiting: the child hangs only if that compilation holds a lock at this
  /// moment, and locks are held for microseconds.
  static bool holdOff();
  /// After the fork.
  static void resume();
  static void resumeInChild();
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_FORKDELAY_H
