//===- StorageLocks.h - Locks of the memory that steps write ------------------------*- C++ -*-===//
// Optimizers of several trainers may step the same parameters of a worker. What must not run at the
// same time is told by memory: whoever writes some holds a lock that all others take for it, too.

#ifndef UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H
#define UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H

#include "runtime/base/MemoryRanges.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace updraft::dist {

/// The locks of some ranges of memory. Sets made at any place of the process have a lock in common
/// for any two of their ranges that overlap, and none for others. Any thread.
class StorageLocks {
public:
  StorageLocks() = default;
  /// `ranges` may be in any order, repeat and overlap. Addresses stand for the memory as long as
  /// the set lives, which its owner sees to.
  explicit StorageLocks(const std::vector<runtime::MemoryRange> &ranges);

  /// Held from its construction to its end. Nothing that is done meanwhile may wait for another
  /// thread that asks for locks, as a remote call or Python would.
  class Guard {
  public:
    /// The locks of the ranges at `places` of the list that `locks` was made of.
    Guard(const StorageLocks &locks, const std::vector<size_t> &places);
    ~Guard();
    Guard(Guard &&other) noexcept : held(std::exchange(other.held, {})) {}
    Guard(const Guard &) = delete;

  private:
    std::vector<std::mutex *> held;
  };

private:
  /// In the order of their addresses, in which every thread takes them.
  std::vector<std::shared_ptr<std::mutex>> locks;
  /// Those of a place are the numbers in `locks` from ends[place - 1] to before ends[place].
  std::vector<size_t> numbers, ends;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H
