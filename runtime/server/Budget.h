//===- Budget.h - A limit on memory -------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_BUDGET_H
#define UPDRAFT_RUNTIME_SERVER_BUDGET_H

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace updraft::server {

/// A number of bytes that tensors may use together. Thread-safe.
class Budget {
public:
  /// `owner` has the bytes, in messages: "the worker". Reservations count against `whole`, too,
  /// unless it is null.
  explicit Budget(size_t limit, std::string owner = "the worker", Budget *whole = nullptr)
      : state(std::make_shared<State>(limit, std::move(owner), whole ? whole->state : nullptr)) {}

private:
  struct State {
    State(size_t limit, std::string owner, std::shared_ptr<State> whole)
        : limit(limit), owner(std::move(owner)), whole(std::move(whole)) {}
    void reserve(size_t bytes, const std::string &what);
    void release(size_t bytes);

    const size_t limit;
    const std::string owner;
    const std::shared_ptr<State> whole;
    mutable std::mutex mutex;
    size_t reserved = 0;
  };

public:
  /// Bytes that are reserved until it is destroyed. May outlive the budget.
  class Reservation {
  public:
    Reservation() = default;
    Reservation(Reservation &&other) noexcept
        : state(std::move(other.state)), bytes(std::exchange(other.bytes, 0)) {}
    Reservation &operator=(Reservation &&other) noexcept {
      std::swap(state, other.state);
      std::swap(bytes, other.bytes);
      return *this;
    }
    ~Reservation() {
      if (state)
        state->release(bytes);
    }

  private:
    friend Budget;
    Reservation(std::shared_ptr<State> state, size_t bytes)
        : state(std::move(state)), bytes(bytes) {}
    std::shared_ptr<State> state;
    size_t bytes = 0;
  };

  /// Reserves memory before it is allocated. Throws ResourceExhausted if there is too little;
  /// `what` names what needs it.
  Reservation reserve(size_t bytes, const std::string &what) {
    state->reserve(bytes, what);
    return {state, bytes};
  }
  size_t used() const;

private:
  std::shared_ptr<State> state;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_BUDGET_H
