//===- LockWait.cpp - The time that steps wait for each other ---------------------------------===//

#include "runtime/dist/LockWait.h"

#include <atomic>
#include <chrono>

using namespace updraft;

static std::atomic<int64_t> waited = 0;

void dist::lockCounted(std::mutex &mutex) {
  if (mutex.try_lock())
    return;
  const auto start = std::chrono::steady_clock::now();
  mutex.lock();
  const auto time = std::chrono::steady_clock::now() - start;
  waited.fetch_add(std::chrono::nanoseconds(time).count(), std::memory_order_relaxed);
}

int64_t dist::lockWait() { return waited.load(std::memory_order_relaxed); }
