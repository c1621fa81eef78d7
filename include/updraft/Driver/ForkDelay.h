//===- ForkDelay.h - Work that no fork may cut in two -------------------------------*- C++ -*-===//
// A child of fork has only the thread that forked. A lock that another thread held at that moment
// stays locked in the child, and an initialisation that another thread had begun never ends. glibc
// repairs its own locks in the child, those of `malloc` included; nobody repairs LLVM's and MLIR's.
// Linking takes such locks. Compiling does so while it makes what is kept for the next compilation,
// and wherever it does something for the first time in the process, as a static variable of a
// function is initialised then. Which variables those are depends on everything that a rule has, so
// forks wait for every compilation.

#ifndef UPDRAFT_DRIVER_FORKDELAY_H
#define UPDRAFT_DRIVER_FORKDELAY_H

namespace updraft {

/// Makes forks wait while it lives. If a fork is under way, construction waits for it, unless the
/// thread already has a delay. May nest.
class ForkDelay {
public:
  ForkDelay();
  ~ForkDelay();
  ForkDelay(const ForkDelay &) = delete;
  ForkDelay &operator=(const ForkDelay &) = delete;

  /// Stops new delays, and waits until other threads have none, for at most 0.8 s: `fork` must
  /// return within a second. Returns whether they have none. Only large rules compile for longer.
  /// Then forking is better than waiting: the child hangs only if that compilation holds a lock at
  /// this moment, which takes microseconds.
  static bool holdOff();
  /// After the fork.
  static void resume();
  static void resumeInChild();
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_FORKDELAY_H
