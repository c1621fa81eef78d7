//===- updraft/ThreadPool.h - The program's own threads -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_THREADPOOL_H
#define UPDRAFT_THREADPOOL_H

#include "updraft-c/optimizer.h"

#include <memory>
#include <utility>

namespace updraft {
inline namespace v1 {

/// One call of ThreadPool's function: `task(i)` runs part i. It may be copied, and is valid until
/// the call returns.
class PoolTask {
public:
  PoolTask(void (*function)(void *, int32_t), void *argument) : task(function), context(argument) {}
  void operator()(int32_t index) const { task(context, index); }

private:
  void (*task)(void *, int32_t);
  void *context;
};

/// The program's threads, which run steps instead of those of the library. Copies share the
/// function. An optimizer keeps it, but not the threads, which must outlive the optimizer.
class ThreadPool {
public:
  /// `run(int32_t count, PoolTask task)` calls task(i) once for each i in [0, count), on any
  /// threads, and returns when all calls have returned. It must not throw. `threads`, at least 1,
  /// is the number of threads that run tasks at the same time.
  template <typename Run> ThreadPool(int32_t threads, Run run) {
    struct Adapter {
      int32_t threads;
      Run run;
    };
    auto adapter = std::make_shared<Adapter>(Adapter{threads, std::move(run)});
    pool.run = [](void *self, int32_t count, void (*task)(void *, int32_t),
                  void *context) noexcept {
      static_cast<Adapter *>(self)->run(count, PoolTask(task, context));
    };
    pool.thread_count = [](void *self) noexcept { return static_cast<Adapter *>(self)->threads; };
    pool.pool = adapter.get();
    owner = std::move(adapter);
  }

  /// The pool for the C API, valid as long as a copy of this object exists.
  const upd_pool &get() const { return pool; }

private:
  upd_pool pool{};
  std::shared_ptr<void> owner;
};

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_THREADPOOL_H
