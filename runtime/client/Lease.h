//===- Lease.h - Keeps a client registered with its workers -------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CLIENT_LEASE_H
#define UPDRAFT_RUNTIME_CLIENT_LEASE_H

#include "runtime/client/Workers.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace updraft::dist {

/// Registers a client with workers, and renews its leases in a thread. If a worker has forgotten
/// the client, it takes a new name, because the outcome of requests under the old one is unknown.
/// Thread-safe.
class Lease {
public:
  /// `name` is the first name; later ones are "NAME.2", "NAME.3". `workers` must outlive this.
  Lease(Workers &workers, std::string name);
  ~Lease();
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;

  std::string current();

  /// Registers with these workers, unless they know the client. Returns the name. Throws
  /// WorkersFailed, and std::system_error if the thread doesn't start.
  std::string hold(const std::vector<size_t> &some);
  /// Renews the leases, and takes a new name if a worker has forgotten the client.
  void renew();

private:
  /// Returns false once this ends.
  bool waitForRenewal();
  void renewUntilStopped();

  Workers &workers;
  const std::string base;
  std::mutex mutex; ///< guards what follows
  std::condition_variable changed;
  bool isStopped = false;
  std::string name;
  int names = 1;
  std::set<size_t> registered;
  /// A third of the shortest lease, or less.
  std::chrono::milliseconds interval = std::chrono::hours(1);
  std::thread thread;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_CLIENT_LEASE_H
