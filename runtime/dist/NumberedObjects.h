//===- NumberedObjects.h - Objects by numbers that others have chosen ---------------*- C++ -*-===//
// Whoever asks for an object chooses its number, so that it can give up one whose making it has not
// heard the end of. Requests run in threads, and one to release may overtake the one to make.

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

/// The numbers of one table that are released before they are made. One thread at a time.
class ReleasedNumbers {
public:
  /// How many are remembered: the oldest is forgotten for another. A number is waited for no longer
  /// than its request is under way, in which time there are not that many failures.
  static constexpr size_t capacity = 1 << 14;

  void add(int64_t number);
  /// Whether it was there; it no longer is.
  bool take(int64_t number);
  size_t size() const { return numbers.size(); }

private:
  std::unordered_set<int64_t> numbers;
  std::deque<int64_t> order; ///< of adding, with some that were taken
};

/// Objects by their numbers. Any thread.
template <typename Object> class NumberedObjects {
public:
  enum class Outcome {
    Made,
    Released, ///< before it was made: there is none
    Known     ///< there is one of this number already, or it is being made
  };

  /// Adds what `make` returns, a shared pointer. What it throws is thrown; then nothing is added.
  template <typename Make> Outcome add(int64_t number, const Make &make) {
    {
      std::lock_guard guard(mutex);
      if (released.take(number))
        return Outcome::Released;
      if (!entries.try_emplace(number).second)
        return Outcome::Known;
    }
    std::shared_ptr<Object> object; // goes, if nobody wants it, when the mutex is free
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

  /// Null if there is none, or it is being made.
  std::shared_ptr<Object> get(int64_t number) const {
    std::shared_lock guard(mutex);
    auto found = entries.find(number);
    return found == entries.end() ? nullptr : found->second.object;
  }

  /// An object goes when nobody uses it any more; one that is being made, or that is asked for
  /// later, will not be.
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
    std::shared_ptr<Object> object; ///< null while it is made
    bool isReleased = false;
  };

  mutable std::shared_mutex mutex;
  std::unordered_map<int64_t, Entry> entries;
  ReleasedNumbers released;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_NUMBEREDOBJECTS_H
