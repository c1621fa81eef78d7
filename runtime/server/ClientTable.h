//===- ClientTable.h - Clients, their leases and the answers to their requests ------*- C++ -*-===//
// A client that gets no answer repeats its request. The table has the first answer, so that no
// request is carried out twice. A client renews its lease; if it doesn't, it has died, and what the
// worker holds for it is freed.

#ifndef UPDRAFT_RUNTIME_SERVER_CLIENTTABLE_H
#define UPDRAFT_RUNTIME_SERVER_CLIENTTABLE_H

#include "runtime/server/Budget.h"
#include "runtime/server/GradientContext.h"
#include "runtime/store/Catalog.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace updraft::server {

using Clock = std::function<std::chrono::steady_clock::time_point()>;

struct ClientLimits {
  std::chrono::seconds lease{60}; ///< how long a client lives without a request
  /// How long the answer to a step is kept at least, unless the client acknowledges it.
  std::chrono::seconds answerAge{600};
  /// The limit for a client that doesn't acknowledge them, while they are that young. Those before
  /// a restart come in addition.
  size_t answers = size_t(1) << 16;
  /// Once all clients have so many, each may have an equal part.
  size_t allAnswers = size_t(1) << 21;
  size_t clients = 10'000;
  size_t requests = 64;    ///< of a client at the same time
  size_t bytes = SIZE_MAX; ///< of a client's gradients
};

/// Thread-safe. Requests of one client have different sequences, in ascending order: a request is
/// sent before any with a higher sequence is forgotten here. A client that was forgotten has to
/// register under another name. Unless it says otherwise, a function throws ClientUnknown for a
/// client that isn't registered.
class ClientTable {
public:
  ClientTable(const ClientLimits &limits, Budget &memory, Clock clock)
      : limits(limits), memory(memory), clock(std::move(clock)) {}

  /// Adds a client and calls `record` before. Only renews the lease if it is registered. Throws
  /// ResourceExhausted if there are too many.
  void add(const std::string &name, const std::function<void()> &record);
  std::chrono::seconds lease() const { return limits.lease; }
  /// Renews a lease. Returns false if the client isn't registered.
  bool renew(const std::string &name);

private:
  struct Client;

public:
  /// A request that is carried out, and renews the lease.
  class Request {
  public:
    /// Throws ResourceExhausted if the client has too many.
    Request(ClientTable &table, const std::string &name);
    ~Request();
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;

    /// The limit on the client's gradients.
    Budget &budget() const;

  private:
    ClientTable &table;
    const std::shared_ptr<Client> client;
  };

  /// Calls `carryOut` and remembers its result, or returns the result of an earlier call for the
  /// same request. Waits if such a call is under way. If `carryOut` throws, nothing is remembered,
  /// and the request can be repeated, unless its answer was decided. Throws OutcomeUnknown if the
  /// request is so old that its answer may have been forgotten, or if it was decided and then
  /// threw, and ResourceExhausted if the client has too many young answers.
  int64_t once(const RequestKey &request, const std::function<int64_t()> &carryOut);
  /// Called by `carryOut` when it can't fail any more but for the disk. From now on `list` has the
  /// answer.
  void decide(const RequestKey &request, int64_t value);

  /// The clients whose leases have ended.
  std::vector<std::string> ended() const;
  /// The clients whose leases have ended and whose answers are old.
  std::vector<std::string> forgettable() const;
  /// Forgets those of `names` that still are. Calls `record` with each name before.
  void forgetEnded(const std::vector<std::string> &names,
                   const std::function<void(const std::string &)> &record);
  /// Forgets answers that have been kept for long enough.
  void forgetOldAnswers();
  /// Forgets a client, if it is registered.
  void forget(const std::string &name);

  /// Forgets the answers to requests of a client below `sequence`, which the client doesn't repeat.
  /// Has no effect for a client that isn't registered.
  void acknowledge(const std::string &name, uint64_t sequence);
  /// Throws OutcomeUnknown if the answer to a request may have been forgotten.
  void requireRemembered(const RequestKey &request) const;
  bool isForgotten(const RequestKey &request) const;
  /// Whether a request was carried out, or its answer decided.
  bool isDecided(const RequestKey &request) const;
  /// The answer to a request, if it is known.
  std::optional<int64_t> answer(const RequestKey &request) const;
  /// Sets an answer that was decided, without `once`: it is known, or its outcome is unknown.
  void settle(const RequestKey &request, bool isKnown);

  size_t clientCount() const;
  size_t answerCount() const;

  /// Adds clients and answers to a snapshot.
  void list(store::Snapshot &snapshot) const;
  /// Remembers what `list` has listed, or an answer. Its age and leases begin now.
  void restore(const store::Snapshot &snapshot);
  void restore(const std::string &name);
  void restore(const RequestKey &request, int64_t value);

private:
  enum class Progress { UnderWay, Decided, Unknown, Known };
  struct Answer {
    Progress progress = Progress::UnderWay;
    int64_t value = 0;
    std::chrono::steady_clock::time_point time;
  };
  struct Client {
    explicit Client(Budget budget) : budget(std::move(budget)) {}
    std::map<uint64_t, Answer> answers;         ///< by sequence
    size_t restored = 0;                        ///< the number of `answers` that `restore` has set
    uint64_t forgotten = 0;                     ///< the highest forgotten sequence
    std::chrono::steady_clock::time_point seen; ///< its last request
    size_t requests = 0;                        ///< that are carried out
    Budget budget;
  };

  // Called with `mutex` held.
  bool hasEnded(const Client &client) const;
  bool isForgettable(const Client &client) const;
  const std::shared_ptr<Client> &find(const std::string &name) const;
  Client &place(const std::string &name);
  bool isOld(const Answer &answer) const;
  bool mayHaveMore(const Client &client) const;
  void forgetOld(Client &client);
  void forgetFirst(Client &client);

  const ClientLimits limits;
  Budget &memory;
  const Clock clock;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<std::string, std::shared_ptr<Client>> clients;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_CLIENTTABLE_H
