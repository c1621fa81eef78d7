//===- StorageLocks.h - Locks for the memory that steps write -----------------------*- C++ -*-===//
// Optimizers of several trainers may step the same parameters of a worker. Memory identifies
// conflicts: everything that writes a range holds a lock that all others use for it too.

#ifndef UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H
#define UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H

#include "runtime/base/MemoryRanges.h"
#include "runtime/dist/Lock.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace updraft::dist {

/// The locks of some ranges of memory. Any two sets in the process share a lock if two of their
/// ranges overlap, and only then. Thread-safe.
class StorageLocks {
public:
  StorageLocks() = default;
  /// `ranges` may be in any order, repeat and overlap. The owner must keep the memory while the set
  /// exists, because addresses identify it.
  /// `nameOf` returns the name of the place of a range, for the timeline.
  explicit StorageLocks(const std::vector<runtime::MemoryRange> &ranges,
                        std::function<std::string(size_t)> nameOf = {});

  /// Holds the locks during its lifetime. Meanwhile don't wait for another thread that takes locks,
  /// as a remote call or Python could.
  class Guard {
  public:
    /// Locks the ranges at `places` in the list that `locks` was constructed from.
    Guard(const StorageLocks &locks, const std::vector<size_t> &places) {
      lock(locks, places, forever);
    }
    ~Guard();
    Guard(Guard &&other) noexcept : held(std::exchange(other.held, {})) {}
    Guard &operator=(Guard &&other) noexcept {
      std::swap(held, other.held);
      return *this;
    }
    Guard(const Guard &) = delete;

  private:
    friend StorageLocks;
    Guard() = default;
    bool lock(const StorageLocks &locks, const std::vector<size_t> &places, Patience patience);

    std::vector<Lock *> held;
  };

  /// The same, but waits for each lock no longer than `patience`. Nothing if one isn't free in
  /// time.
  std::optional<Guard> lock(const std::vector<size_t> &places, Patience patience) const;

private:
  std::string describe(size_t number, const std::vector<size_t> &places) const;

  /// In the order of addresses, in which every thread takes them.
  std::vector<std::shared_ptr<Lock>> locks;
  /// The locks of place i are numbers[ends[i - 1]] to numbers[ends[i] - 1], as indices into
  /// `locks`.
  std::vector<size_t> numbers, ends;
  std::function<std::string(size_t)> nameOf;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H
