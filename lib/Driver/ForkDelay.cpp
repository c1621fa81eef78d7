//===- ForkDelay.cpp - Delays forks during a compilation --------------------------------------===//

#include "updraft/Driver/ForkDelay.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

using namespace updraft;

namespace {
constexpr std::chrono::milliseconds longestWait(800);

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned delays = 0; ///< of all threads
  bool isForking = false;
};

/// Never destroyed, because threads may compile until the process ends. A child gets a new one,
/// because the condition variable counts threads that the child does not have.
State *&state() {
  static State *state = new State;
  return state;
}

thread_local unsigned delaysOfThread = 0;
} // namespace

ForkDelay::ForkDelay() {
  State &shared = *state();
  std::unique_lock lock(shared.mutex);
  // A fork waits for threads that already have a delay.
  if (delaysOfThread == 0)
    shared.changed.wait(lock, [&] { return !shared.isForking; });
  ++delaysOfThread;
  ++shared.delays;
}

ForkDelay::~ForkDelay() {
  State &shared = *state();
  std::lock_guard lock(shared.mutex);
  --delaysOfThread;
  --shared.delays;
  shared.changed.notify_all();
}

bool ForkDelay::holdOff() {
  State &shared = *state();
  std::unique_lock lock(shared.mutex);
  // Another thread may be forking.
  shared.changed.wait(lock, [&] { return !shared.isForking; });
  shared.isForking = true;
  const bool isQuiet =
      shared.changed.wait_for(lock, longestWait, [&] { return shared.delays == delaysOfThread; });
  // Stays locked until after the fork, so that the child finds a consistent state.
  lock.release();
  return isQuiet;
}

void ForkDelay::resume() {
  State &shared = *state();
  shared.isForking = false;
  shared.changed.notify_all();
  shared.mutex.unlock();
}

void ForkDelay::resumeInChild() {
  auto *fresh = new State;
  fresh->delays = delaysOfThread;
  state() = fresh;
}
