//===- Upkeep.h - Work between requests ---------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_UPKEEP_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_UPKEEP_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace updraft::worker {

/// Calls a function in a thread: at once, and then after each pause. Otherwise a worker that is
/// killed soon after each start would never shorten its journal. An exception is logged, and the
/// function is called again after the pause.
class Upkeep {
public:
  Upkeep(std::chrono::milliseconds pause, std::function<void()> work);
  ~Upkeep() { stop(); }
  Upkeep(const Upkeep &) = delete;
  Upkeep &operator=(const Upkeep &) = delete;

  /// Waits for work that is under way.
  void stop();

private:
  std::mutex mutex;
  std::condition_variable stopped;
  bool isStopped = false;
  std::thread thread;
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_UPKEEP_H
