//===- SnapshotSchedule.cpp - When a worker writes snapshots ----------------------------------===//

#include "SnapshotSchedule.h"

#include "Log.h"

#include <exception>
#include <fmt/format.h>
#include <string>

using namespace updraft::worker;

bool SnapshotSchedule::take() {
  last = std::chrono::steady_clock::now();
  std::string error;
  try {
    server.takeSnapshot();
  } catch (const std::exception &thrown) { // also if there is no memory for the copies
    error = thrown.what();
  }
  hasFailed = !error.empty();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - last;
  metrics.countSnapshot(!hasFailed, taken.count());
  if (hasFailed)
    log(Severity::Error, "snapshot failed", {{"error", error}});
  else
    log(Severity::Info, "snapshot written", {{"seconds", fmt::format("{:.3f}", taken.count())}});
  return !hasFailed;
}

void SnapshotSchedule::tick() {
  const bool isLong = server.journalBytes() > journalBytes;
  const bool isTime = std::chrono::steady_clock::now() - last >= interval;
  if (server.changesSinceSnapshot() != 0 && (isTime || (isLong && !hasFailed)))
    take();
}

bool SnapshotSchedule::finish() { return server.changesSinceSnapshot() == 0 || take(); }
