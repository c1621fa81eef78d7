//===- Workers.cpp - The trainer's threads ----------------------------------------------------===//

#include "Workers.h"

Workers::Workers(int count) {
  for (int i = 1; i < count; ++i)
    threads.emplace_back([this] { work(); });
}

Workers::~Workers() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  start.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Workers::takeTasks() {
  for (int i = next++; i < tasks; i = next++)
    (*task)(i);
}

void Workers::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (int seen = 0;;) {
    start.wait(lock, [&] { return stopping || round != seen; });
    if (stopping)
      return;
    seen = round;
    lock.unlock();
    takeTasks();
    lock.lock();
    if (--busy == 0)
      done.notify_one();
  }
}

void Workers::run(int count, const std::function<void(int)> &body) {
  std::unique_lock<std::mutex> lock(mutex);
  task = &body;
  tasks = count;
  next = 0;
  busy = int(threads.size());
  ++round;
  lock.unlock();
  start.notify_all();
  takeTasks();
  lock.lock();
  done.wait(lock, [&] { return busy == 0; });
}
