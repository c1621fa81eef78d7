//===- Lease.h - Keeps a client registered with its workers -------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CLIENT_LEASE_H
#define UPDRAFT_RUNTIME_CLIENT_LEASE_H

#include "runtime/client/Workers.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace updraft::dist {

/// Registers a client with workers, and renews its leases in a thread. If a worker has forgotten
/// the client, it takes a new name, because the outcome of requests under the old one is unknown.
/// Other workers still know the old name, and their contexts keep it. Thread-safe.
class Lease {
public:
  /// A name of the client. Its leases are renewed while a copy exists.
  using Name = std::shared_ptr<const std::string>;

  /// `name` is the first name; later ones are "NAME.2", "NAME.3". `workers` must outlive this.
  Lease(Workers &workers, std::string name);
  ~Lease();
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;

  std::string current();

  /// Registers with these workers, unless they know the client. Returns the name. Throws
  /// WorkersFailed, and std::system_error if the thread doesn't start.
  Name hold(const std::vector<size_t> &some);
  /// Renews the leases, and takes a new name if a worker has forgotten the client.
  void renew();

private:
  struct Registration {
    const std::string name;
    std::set<size_t> workers;
  };
  struct Renewal;

  /// Lists the leases of the names that are held. Called with `mutex` held.
  void list(std::deque<Renewal> &renewals);
  /// Sends the renewals at the same time, so that a worker that hangs doesn't cost others their
  /// leases. Waits for the answers.
  void send(std::deque<Renewal> &renewals, std::chrono::milliseconds patience);
  /// Waits for the end of the interval since `last`. Returns false once this ends.
  bool waitForRenewal(std::chrono::steady_clock::time_point last);
  void renewUntilStopped();

  /// Never destroyed in a fork of the client's process, whose copy has a waiter without a thread.
  struct Waiting {
    std::mutex mutex; ///< guards the members of Lease that follow
    std::condition_variable changed;
    std::thread thread;
  };

  Workers &workers;
  const std::string base;
  std::unique_ptr<Waiting> waiting = std::make_unique<Waiting>();
  bool isStopped = false;
  std::shared_ptr<Registration> latest;
  std::vector<std::weak_ptr<Registration>> earlier;
  int names = 1;
  /// A third of the shortest lease, or less.
  std::chrono::milliseconds interval = std::chrono::hours(1);
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_CLIENT_LEASE_H
