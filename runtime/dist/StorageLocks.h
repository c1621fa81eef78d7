//===- StorageLocks.h - One lock for each storage of the process --------------------*- C++ -*-===//
// Optimizers of several trainers may step the same parameters of a worker. What must not run at the
// same time is told by memory: whoever writes a storage holds its lock.

#ifndef UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H
#define UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace updraft::dist {

/// The locks of some storages. Sets made at any place of the process share the lock of a storage
/// that they have in common. Any thread.
class StorageLocks {
public:
  StorageLocks() = default;
  /// `storages` are told apart by their addresses, may be in any order, and repeat. An address
  /// stands for the storage as long as the set lives, which its owner sees to.
  explicit StorageLocks(const std::vector<const void *> &storages);

  /// Held from its construction to its end. Nothing that is done meanwhile may wait for another
  /// thread that asks for locks, as a remote call or Python would.
  class Guard {
  public:
    /// The locks of the storages at `places` of the list that `locks` was made of.
    Guard(const StorageLocks &locks, const std::vector<size_t> &places);
    ~Guard();
    Guard(Guard &&other) noexcept : held(std::exchange(other.held, {})) {}
    Guard(const Guard &) = delete;

  private:
    std::vector<std::mutex *> held;
  };

private:
  /// By place in the list; all places of a storage have its rank in the order of addresses, in
  /// which every thread takes its locks.
  std::vector<size_t> ranks;
  std::vector<std::shared_ptr<std::mutex>> byRank;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_STORAGELOCKS_H
