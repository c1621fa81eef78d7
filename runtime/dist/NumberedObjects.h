//===- NumberedObjects.h - Objects by numbers that clients choose -------------------*- C++ -*-===//
// A client chooses the number of an object that it requests, so that it can release the object even
// without an answer to the request. Requests run in several threads, so a release may overtake the
// creation.

#ifndef UPDRAFT_RUNTIME_DIST_NUMBEREDOBJECTS_H
#define UPDRAFT_RUNTIME_DIST_NUMBEREDOBJECTS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

namespace updraft::dist {

/// The numbers that were released before their creation. Only one thread at a time.
class ReleasedNumbers {
public:
  /// The limit on remembered numbers. A new one replaces the oldest. A number is needed only while
  /// its request is under way, and there aren't that many failures in that time.
  static constexpr size_t capacity = 1 << 14;

  void add(int64_t number);
  /// Removes a number; returns whether it was present.
  bool take(int64_t number);
  size_t size() const { return numbers.size(); }

private:
  std::unordered_set<int64_t> numbers;
  std::deque<int64_t> order; ///< in order of insertion, including some that were taken
};

/// Objects by their numbers. Thread-safe.
template <typename Object> class NumberedObjects {
public:
  enum class Outcome {
    Made,
    Released, ///< before it was created, so it doesn't exist
    Known     ///< the number already exists, or its object is being created
  };

  /// Adds the shared pointer that `make` returns. If `make` throws, adds nothing and rethrows.
  template <typename Make> Outcome add(int64_t number, const Make &make) {
    {
      std::lock_guard guard(mutex);
      if (released.take(number))
        return Outcome::Released;
      if (!entries.try_emplace(number).second)
        return Outcome::Known;
    }
    std::shared_ptr<Object> object; // if unwanted, destroyed after the mutex is unlocked
    try {
      object = make();
    } catch (...) {
      std::lock_guard guard(mutex);
      entries.erase(number);
      throw;
    }
    std::lock_guard guard(mutex);
    Entry &entry = entries.at(number);
    if (entry.isReleased) {
      entries.erase(number);
      return Outcome::Released;
    }
    entry.object = object;
    return Outcome::Made;
  }

  /// Null if it doesn't exist or is being created.
  std::shared_ptr<Object> get(int64_t number) const {
    std::shared_lock guard(mutex);
    auto found = entries.find(number);
    return found == entries.end() ? nullptr : found->second.object;
  }

  /// Removes an object. It is destroyed when unused. If it is being created or requested later, the
  /// creation has no effect.
  void release(int64_t number) {
    std::shared_ptr<Object> last;
    std::lock_guard guard(mutex);
    auto found = entries.find(number);
    if (found == entries.end()) {
      released.add(number);
    } else if (!found->second.object) {
      found->second.isReleased = true;
    } else {
      last = std::move(found->second.object);
      entries.erase(found);
    }
  }

private:
  struct Entry {
    std::shared_ptr<Object> object; ///< null during creation
    bool isReleased = false;
  };

  mutable std::shared_mutex mutex;
  std::unordered_map<int64_t, Entry> entries;
  ReleasedNumbers released;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_NUMBEREDOBJECTS_H
