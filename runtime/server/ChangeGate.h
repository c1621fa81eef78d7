//===- ChangeGate.h - Moments without changes ---------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_CHANGEGATE_H
#define UPDRAFT_RUNTIME_SERVER_CHANGEGATE_H

#include "runtime/dist/Waiting.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace updraft::server {

/// Lets any number of changes pass at the same time, or one snapshot. A snapshot doesn't wait for
/// changes that come later, however many there are. Thread-safe.
class ChangeGate {
public:
  /// A change. Begun after the locks of parameters and optimizers are taken, and before mutexes.
  class Change {
  public:
    explicit Change(ChangeGate &gate) : gate(gate) {
      std::unique_lock lock(gate.mutex);
      if (gate.isClosed)
        dist::aboutToWait();
      gate.changed.wait(lock, [&] { return !gate.isClosed; });
      ++gate.changes;
      ++gate.begun;
    }
    ~Change() {
      const std::lock_guard guard(gate.mutex);
      if (--gate.changes == 0)
        gate.changed.notify_all();
    }
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;

  private:
    ChangeGate &gate;
  };

  /// A moment without changes.
  class Pause {
  public:
    explicit Pause(ChangeGate &gate) : gate(gate) {
      std::unique_lock lock(gate.mutex);
      gate.changed.wait(lock, [&] { return !gate.isClosed; });
      gate.isClosed = true;
      gate.changed.wait(lock, [&] { return gate.changes == 0; });
    }
    ~Pause() {
      const std::lock_guard guard(gate.mutex);
      gate.isClosed = false;
      gate.changed.notify_all();
    }
    Pause(const Pause &) = delete;
    Pause &operator=(const Pause &) = delete;

  private:
    ChangeGate &gate;
  };

  /// The number of changes that have begun.
  uint64_t count() const {
    const std::lock_guard guard(mutex);
    return begun;
  }

private:
  mutable std::mutex mutex;
  std::condition_variable changed;
  size_t changes = 0; ///< under way
  uint64_t begun = 0;
  bool isClosed = false;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_CHANGEGATE_H
