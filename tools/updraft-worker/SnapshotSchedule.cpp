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
  } catch (const std::exception &) { // the server's observer has the error
  }
  return !hasFailed;
}

void SnapshotSchedule::tick() {
  const bool isLong = server.journalBytes() > journalBytes; // perhaps since before a restart
  const bool isTime = std::chrono::steady_clock::now() - last >= interval;
  if (isTime ? isLong || server.changesSinceSnapshot() != 0 : isLong && !hasFailed)
    take();
}

bool SnapshotSchedule::finish() { return server.changesSinceSnapshot() == 0 || take(); }
