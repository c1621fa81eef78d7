//===- SnapshotSchedule.h - When a worker writes snapshots --------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_SNAPSHOTSCHEDULE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_SNAPSHOTSCHEDULE_H

#include "runtime/server/Server.h"

#include <chrono>
#include <cstdint>

namespace updraft::worker {

/// Writes a snapshot when something has changed and the interval is over, or when the journal is
/// longer than it should be. One thread at a time calls its functions.
class SnapshotSchedule {
public:
  SnapshotSchedule(server::Server &server, std::chrono::seconds interval, uint64_t journalBytes)
      : server(server), interval(interval), journalBytes(journalBytes) {}

  /// Writes a snapshot if it is time. After an error tries again after the interval.
  void tick();
  /// Writes a last snapshot if something has changed. Returns false on an error.
  bool finish();

private:
  bool take();

  server::Server &server;
  const std::chrono::seconds interval;
  const uint64_t journalBytes;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  bool hasFailed = false, hasTaken = false;
};

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_SNAPSHOTSCHEDULE_H
