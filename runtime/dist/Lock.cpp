//===- Lock.cpp - A lock that any thread can release ------------------------------------------===//

#include "runtime/dist/Lock.h"

#include "runtime/dist/Waiting.h"

#include <atomic>

using namespace updraft;

static std::atomic<int64_t> waited = 0;

/// Returns whether the lock is free in time.
bool dist::Lock::wait(std::unique_lock<std::mutex> &lock, Patience patience) {
  aboutToWait();
  const auto isFree = [&] { return !isHeld; };
  const auto start = std::chrono::steady_clock::now();
  if (patience == forever)
    freed.wait(lock, isFree);
  else
    freed.wait_for(lock, patience, isFree);
  const auto time = std::chrono::steady_clock::now() - start;
  waited.fetch_add(std::chrono::nanoseconds(time).count(), std::memory_order_relaxed);
  return !isHeld;
}

void dist::Lock::unlock() {
  {
    const std::lock_guard guard(mutex);
    isHeld = false;
  }
  freed.notify_one();
}

int64_t dist::lockWait() { return waited.load(std::memory_order_relaxed); }
