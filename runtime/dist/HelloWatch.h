//===- HelloWatch.h - Connections that have not said hello yet ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_HELLOWATCH_H
#define UPDRAFT_RUNTIME_DIST_HELLOWATCH_H

#include "runtime/dist/Hello.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace updraft::dist {

/// Looks at what comes on sockets without taking it, in a thread of its own. Any thread may add.
class HelloWatch {
public:
  /// That of this process, made by the first call. Throws like the constructor; the next call tries
  /// again.
  static HelloWatch &process();

  /// Throws std::runtime_error if there is no descriptor or no thread. Never destroyed: the thread
  /// runs until the process ends.
  HelloWatch();
  ~HelloWatch() = delete;

  /// Calls `greeted`, in the thread of this, when a valid hello has come; and drops it, with all
  /// that it holds, when anything else has, when the other side is gone, and after a minute.
  /// `socket` is a descriptor that is closed here.
  void add(int socket, HelloTo to, std::function<void()> greeted);

private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    int socket;
    HelloTo to;
    std::function<void()> greeted;
    Clock::time_point end;
    bool isPartial = false; ///< some has come, which poll() would go on to tell
  };

  void run();
  /// Whether it is done with.
  static bool look(Waiting &one);

  int wake;
  std::mutex mutex;
  std::vector<Waiting> added;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_HELLOWATCH_H
