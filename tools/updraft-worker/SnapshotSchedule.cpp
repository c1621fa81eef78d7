//===- SnapshotSchedule.cpp - When a worker writes snapshots ----------------------------------===//

#include "SnapshotSchedule.h"

#include <exception>

using namespace updraft::worker;

bool SnapshotSchedule::take() {
  last = std::chrono::steady_clock::now();
  hasFailed = true;
  try {
    server.takeSnapshot();
    hasFailed = false;
    hasTaken = true;
  } catch (const std::exception &) { // the server's observer has the error
  }
  return !hasFailed;
}

void SnapshotSchedule::tick() {
  const bool isLong = server.journalBytes() > journalBytes;
  const bool isTime = std::chrono::steady_clock::now() - last >= interval;
  // The first snapshot also shortens the journal of an earlier process. Later ones need a change:
  // a snapshot repeats the records of undecided steps, so the journal may stay long.
  const bool isDue = server.changesSinceSnapshot() != 0 || (isLong && !hasTaken);
  if (isDue && (isTime || (isLong && !hasFailed)))
    take();
}

bool SnapshotSchedule::finish() { return server.changesSinceSnapshot() == 0 || take(); }
