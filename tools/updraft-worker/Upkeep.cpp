//===- Upkeep.cpp - Work between requests -----------------------------------------------------===//

#include "Upkeep.h"

#include <utility>

using namespace updraft::worker;

Upkeep::Upkeep(std::chrono::milliseconds pause, std::function<void()> work)
    : thread([this, pause, work = std::move(work)] {
        std::unique_lock lock(mutex);
        do {
          lock.unlock();
          work();
          lock.lock();
        } while (!stopped.wait_for(lock, pause, [&] { return isStopped; }));
      }) {}

void Upkeep::stop() {
  {
    const std::lock_guard guard(mutex);
    isStopped = true;
  }
  stopped.notify_all();
  if (thread.joinable())
    thread.join();
}
