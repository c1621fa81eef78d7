//===- Budget.h - A limit on memory -------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_BUDGET_H
#define UPDRAFT_RUNTIME_SERVER_BUDGET_H

#include "runtime/server/MemoryPool.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace updraft::server {

/// A number of bytes that tensors may use together. Freed memory is kept for other tensors, as far
/// as the limit has room for it. Thread-safe.
class Budget {
public:
  /// The memory of a tensor is whole pages. Reserved for each tensor of which there may be many, so
  /// that small or empty ones count.
  static constexpr size_t pageBytes = 4096;

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
    State &root() { return whole ? whole->root() : *this; }
    /// Frees memory that is kept, if it and what is reserved exceed the limit. Called for the root.
    void shrinkPool();

    const size_t limit;
    const std::string owner;
    const std::shared_ptr<State> whole;
    mutable std::mutex mutex;
    size_t reserved = 0;
    MemoryPool pool; ///< of the root
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
    /// Adds the bytes of another reservation of the same budget.
    void add(Reservation other) {
      if (!state)
        state = other.state;
      bytes += std::exchange(other.bytes, 0);
    }

  private:
    friend Budget;
    Reservation(std::shared_ptr<State> state, size_t bytes)
        : state(std::move(state)), bytes(bytes) {}
    std::shared_ptr<State> state;
    size_t bytes = 0;
  };

  /// Memory that counts until it is destroyed. May outlive the budget.
  class Memory {
  public:
    Memory() = default;
    Memory(Memory &&) noexcept = default;
    Memory &operator=(Memory &&) noexcept = default;
    ~Memory() {
      if (arena.data())
        reservation.state->root().pool.put(std::move(arena), reservation.bytes);
    }

    /// Null if there are no bytes, or if the machine has no memory.
    char *data() const { return arena.data(); }

  private:
    friend Budget;
    Memory(Reservation reservation, runtime::StateArena arena)
        : reservation(std::move(reservation)), arena(std::move(arena)) {}
    Reservation reservation;
    runtime::StateArena arena;
  };

  /// Reserves memory before it is allocated. Throws ResourceExhausted if there is too little;
  /// `what` names what needs it.
  Reservation reserve(size_t bytes, const std::string &what);
  /// The same, and allocates it. Its content may be that of memory that was freed.
  Memory allocate(size_t bytes, const std::string &what);
  /// Frees memory that is kept and hasn't been used for this time.
  void freeUnused(std::chrono::seconds age) { state->root().pool.freeUnused(age); }
  size_t used() const;
  /// Bytes that are kept for other tensors.
  size_t kept() const { return state->root().pool.bytes(); }

private:
  std::shared_ptr<State> state;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_BUDGET_H
