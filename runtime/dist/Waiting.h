//===- Waiting.h - Handing on a duty before waiting ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_WAITING_H
#define UPDRAFT_RUNTIME_DIST_WAITING_H

#include <functional>
#include <mutex>

namespace updraft::dist {

/// A thread that serves others as well as its own work hands that duty on before it waits. While
/// this lives, `aboutToWait` calls `handOn` on the thread that made it, at most once. `handOn` must
/// not throw. One at a time for each thread.
class Duty {
public:
  explicit Duty(std::function<void()> handOn);
  ~Duty();
  Duty(const Duty &) = delete;
  Duty &operator=(const Duty &) = delete;

private:
  friend void aboutToWait();
  std::function<void()> handOn;
};

/// Called before the thread waits for another step, a snapshot or the disk, or computes for long.
/// May be called with any locks held.
void aboutToWait();

/// Locks a mutex that another thread may hold for long.
inline std::unique_lock<std::mutex> lockPatiently(std::mutex &mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) {
    aboutToWait();
    lock.lock();
  }
  return lock;
}

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_WAITING_H
