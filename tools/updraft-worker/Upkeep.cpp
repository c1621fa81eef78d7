//===- Upkeep.cpp - Work between requests -----------------------------------------------------===//

#include "Upkeep.h"

#include "Log.h"

#include <exception>
#include <utility>

using namespace updraft::worker;

static void logFailure(const char *error) {
  try {
    log(Severity::Error, "upkeep failed; it is tried again", {{"error", error}});
  } catch (const std::exception &) { // no memory for the line, either
  }
}

Upkeep::Upkeep(std::chrono::milliseconds pause, std::function<void()> work)
    : thread([this, pause, work = std::move(work)] {
        std::unique_lock lock(mutex);
        do {
          lock.unlock();
          try {
            work();
          } catch (const std::exception &error) { // such as a lack of memory, which may pass
            logFailure(error.what());
          }
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
