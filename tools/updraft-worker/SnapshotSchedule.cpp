//===- SnapshotSchedule.cpp - When a worker writes snapshots ----------------------------------===//

#include "SnapshotSchedule.h"

#include "runtime/server/Refusal.h"

#include <cstdio>

using namespace updraft::worker;

bool SnapshotSchedule::take() {
  last = std::chrono::steady_clock::now();
  try {
    server.takeSnapshot();
    hasFailed = false;
  } catch (const server::Refusal &refusal) {
    hasFailed = true;
    std::fprintf(stderr, "updraft-worker: %s\n", refusal.what());
  }
  return !hasFailed;
}

void SnapshotSchedule::tick() {
  const bool isLong = server.statistics().journalBytes > journalBytes;
  const bool isTime = std::chrono::steady_clock::now() - last >= interval;
  if (server.changesSinceSnapshot() != 0 && (isTime || (isLong && !hasFailed)))
    take();
}

bool SnapshotSchedule::finish() { return server.changesSinceSnapshot() == 0 || take(); }
