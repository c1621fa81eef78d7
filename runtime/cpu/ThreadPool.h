//===- ThreadPool.h - The library's own threads -------------------------------------*- C++ -*-===//
// Where steps run if the host gives no upd_pool of its own. Made for short, equal tasks with a
// static assignment: thread t runs the tasks t, t + threads, …, so that memory stays with the
// thread that touched it first.

#ifndef UPDRAFT_RUNTIME_CPU_THREADPOOL_H
#define UPDRAFT_RUNTIME_CPU_THREADPOOL_H

#include "updraft-c/optimizer.h"

#include <cstdint>
#include <memory>

namespace updraft::runtime {

/// Any thread may call `run` at any time, also from within a task: a call that finds the threads
/// busy runs its tasks itself. Tasks must not throw.
class ThreadPool {
public:
  using Task = void (*)(void *context, int32_t index);

  /// `threads` counts the caller of `run`, and is at least 1. With fewer threads than that if the
  /// system gives no more.
  explicit ThreadPool(int32_t threads);
  /// Waits for the threads to end. No call of `run` may be under way.
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int32_t threadCount() const;
  /// Returns when all tasks have. What they wrote is visible to the caller then.
  void run(int32_t count, Task task, void *context);

  /// This pool, which must outlive the result.
  upd_pool handle();

  /// The process's pool, made when first asked for. Its threads last as long as the process; after
  /// a fork the child makes its own. Null if there is no memory for it.
  static ThreadPool *process();
  /// Runs on the process's pool, or on the calling thread if there is none.
  static upd_pool processHandle();

  /// UPDRAFT_NUM_THREADS if it is a number from 1 to 1024, else the number of CPUs that the process
  /// may use.
  static int32_t defaultThreadCount();

private:
  class Workers;
  std::unique_ptr<Workers> workers;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_THREADPOOL_H
