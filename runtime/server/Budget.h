//===- Budget.h - A limit on memory -------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_BUDGET_H
#define UPDRAFT_RUNTIME_SERVER_BUDGET_H

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

namespace updraft::server {

/// A number of bytes that tensors may use together. Thread-safe. Outlives its reservations.
class Budget {
public:
  explicit Budget(size_t limit) : limit(limit) {}

  /// Bytes that are reserved until it is destroyed.
  class Reservation {
  public:
    Reservation() = default;
    Reservation(Reservation &&other) noexcept
        : budget(std::exchange(other.budget, nullptr)), bytes(std::exchange(other.bytes, 0)) {}
    Reservation &operator=(Reservation &&other) noexcept {
      std::swap(budget, other.budget);
      std::swap(bytes, other.bytes);
      return *this;
    }
    ~Reservation() {
      if (budget)
        budget->release(bytes);
    }

  private:
    friend Budget;
    Reservation(Budget *budget, size_t bytes) : budget(budget), bytes(bytes) {}
    Budget *budget = nullptr;
    size_t bytes = 0;
  };

  /// Reserves memory before it is allocated. Throws ResourceExhausted if there is too little;
  /// `what` names what needs it.
  Reservation reserve(size_t bytes, const std::string &what);
  size_t used() const;

private:
  void release(size_t bytes);

  const size_t limit;
  mutable std::mutex mutex;
  size_t reserved = 0;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_BUDGET_H
