//===- Workers.h - The trainer's threads --------------------------------------------*- C++ -*-===//
// Stands for the thread pool that a program already has. The trainer computes gradients on it, and
// Updraft runs steps on it.

#ifndef UPDRAFT_EXAMPLES_WORKERS_H
#define UPDRAFT_EXAMPLES_WORKERS_H

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Workers {
public:
  explicit Workers(int count);
  ~Workers();

  /// The threads, including the caller of `run`.
  int count() const { return int(threads.size()) + 1; }

  /// Calls task(i) once for each i in [0, tasks), and returns when all calls have returned. One
  /// thread at a time may call it.
  void run(int tasks, const std::function<void(int)> &task);

private:
  void work();
  void takeTasks();

  std::mutex mutex;
  std::condition_variable start, done;
  const std::function<void(int)> *task = nullptr;
  int tasks = 0;
  std::atomic<int> next{0};
  int round = 0, busy = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

#endif // UPDRAFT_EXAMPLES_WORKERS_H
