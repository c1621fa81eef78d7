//===- HelloWatch.h - Connections that haven't said hello yet -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_HELLOWATCH_H
#define UPDRAFT_RUNTIME_DIST_HELLOWATCH_H

#include "runtime/dist/Hello.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace updraft::dist {

/// Peeks at data on sockets without consuming it, in its own thread. Any thread may add sockets.
class HelloWatch {
public:
  /// The process's instance, created by the first call. Throws like the constructor; the next call
  /// tries again.
  static HelloWatch &process();

  /// Throws std::runtime_error if the process can't get a descriptor or a thread. Never destroyed:
  /// the thread runs until the process exits.
  HelloWatch();
  ~HelloWatch() = delete;

  /// Calls `greeted` in this object's thread when a valid hello has arrived. Drops `greeted`, with
  /// everything that it owns, if anything else has arrived, the other side has closed, or after a
  /// minute. Closes `socket`.
  void add(int socket, HelloTo to, std::function<void()> greeted);

private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    int socket;
    HelloTo to;
    std::function<void()> greeted;
    Clock::time_point end;
    bool isPartial = false; ///< has part of a hello, which poll() would keep reporting
  };

  void run();
  /// Whether the connection is finished.
  static bool look(Waiting &one);

  int wake;
  std::mutex mutex;
  std::vector<Waiting> added;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_HELLOWATCH_H
