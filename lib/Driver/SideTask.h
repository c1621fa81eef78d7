//===- SideTask.h - Work in another thread ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_SIDETASK_H
#define UPDRAFT_LIB_DRIVER_SIDETASK_H

#include <functional>
#include <pthread.h>

namespace updraft {

/// Runs `work` in a separate thread that blocks all signals, or in `join` if a thread can't be
/// created or memory is short. The work needs no ForkDelay: the thread that joins has one.
class SideTask {
public:
  explicit SideTask(std::function<void()> work);
  ~SideTask() { join(); }
  SideTask(const SideTask &) = delete;
  SideTask &operator=(const SideTask &) = delete;

  /// Returns when the work is done.
  void join();

private:
  static void *run(void *task);

  std::function<void()> work; ///< empty once it is joined
  pthread_t thread{};
  bool isStarted = false;
};

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_SIDETASK_H
