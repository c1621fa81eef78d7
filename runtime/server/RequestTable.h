//===- RequestTable.h - The answers to requests that may be repeated ----------------*- C++ -*-===//
// A client that gets no answer repeats its request. The table has the first answer, so that no
// request is carried out twice.

#ifndef UPDRAFT_RUNTIME_SERVER_REQUESTTABLE_H
#define UPDRAFT_RUNTIME_SERVER_REQUESTTABLE_H

#include "runtime/server/GradientContext.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

namespace updraft::server {

/// Thread-safe. Requests of one client have different sequences, in ascending order: a request is
/// sent before any with a higher sequence is forgotten here.
class RequestTable {
public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// An answer is kept for at least `age`, and then until the client has more than `capacity` of
  /// them.
  RequestTable(std::chrono::seconds age, size_t capacity, Clock clock)
      : age(age), capacity(capacity), clock(std::move(clock)) {}

  /// Calls `carryOut` and remembers its result, or returns the result of an earlier call for the
  /// same request. Waits if such a call is under way. If `carryOut` throws, nothing is remembered,
  /// and the request can be repeated. Throws Aborted if the request is so old that its answer may
  /// have been forgotten, and ResourceExhausted if the client has too many young answers.
  int64_t once(const RequestKey &request, const std::function<int64_t()> &carryOut);

  size_t size() const;

private:
  struct Answer {
    bool isKnown = false; ///< false while the request is carried out
    int64_t value = 0;
    std::chrono::steady_clock::time_point time;
  };
  struct Client {
    std::map<uint64_t, Answer> answers; ///< by sequence
    uint64_t forgotten = 0;             ///< the highest forgotten sequence
  };

  void forgetOld(Client &client);

  const std::chrono::seconds age;
  const size_t capacity;
  const Clock clock;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<std::string, Client> clients;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_REQUESTTABLE_H
