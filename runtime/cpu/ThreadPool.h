//===- ThreadPool.h - The library's own threads -------------------------------------*- C++ -*-===//
// Steps run here if the host provides no upd_pool. Made for short, equal tasks with a static
// assignment: each thread has consecutive tasks, always the same, so that memory stays with the
// thread that touched it first. If a thread wakes up late, the caller runs some of its tasks.

#ifndef UPDRAFT_RUNTIME_CPU_THREADPOOL_H
#define UPDRAFT_RUNTIME_CPU_THREADPOOL_H

#include "updraft-c/optimizer.h"

#include <cstdint>
#include <memory>

namespace updraft::runtime {

/// Any thread may call `run` at any time, also from a task. If the pool is busy, the call runs its
/// tasks itself. Tasks must not throw.
class ThreadPool {
public:
  using Task = void (*)(void *context, int32_t index);

  /// `threads` includes the caller of `run`, and is at least 1. If the system can't create that
  /// many, the pool has fewer.
  explicit ThreadPool(int32_t threads);
  /// Waits for the threads to end. No call of `run` may be in progress.
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int32_t threadCount() const;
  /// Returns when all tasks have returned. The caller then sees everything that they wrote.
  void run(int32_t count, Task task, void *context);

  /// Returns a handle of this pool, which must outlive it.
  upd_pool handle();

  /// Returns the process's pool, created by the first call. Its threads run until the process
  /// exits. After a fork the child creates its own. Null if it can't be created.
  static ThreadPool *process();
  /// Returns a handle that uses the process's pool, or the calling thread if there is none.
  static upd_pool processHandle();

  /// Returns UPDRAFT_NUM_THREADS if it is a number from 1 to 1024, else the number of CPUs that the
  /// process may use, at most 1024.
  static int32_t defaultThreadCount();

private:
  class Workers;
  std::unique_ptr<Workers> workers;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_THREADPOOL_H
