//===- LockedStep.h - A worker's step under locks -----------------------------------*- C++ -*-===//
// Defines the order in which a worker locks, checks, records and writes. It depends on no
// transport, so tests can check it for races without one.

#ifndef UPDRAFT_RUNTIME_DIST_LOCKEDSTEP_H
#define UPDRAFT_RUNTIME_DIST_LOCKEDSTEP_H

#include "runtime/dist/StorageLocks.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

namespace updraft::dist {

/// A lock was not free in time.
class LockTimeout : public std::runtime_error {
public:
  LockTimeout() : std::runtime_error("another step holds a parameter or the optimizer") {}
};

/// A step of an optimizer's buckets: parameters that are stepped together. Used once. Either `run`,
/// or `begin` and then `finish` or `cancel`, by any threads.
class LockedStep {
public:
  /// The step is finished or canceled.
  virtual ~LockedStep() = default;

  /// The result of `run` if there was nothing to do, instead of a number of parameters.
  static constexpr int64_t alreadyApplied = -1;

  /// Steps all buckets, or none if one refuses. Returns the number of stepped parameters.
  /// `optimizer` guards the optimizer; `places` are the parameters with gradients, as indices into
  /// the ranges of `locks`. Thread-safe.
  int64_t run(Lock &optimizer, const StorageLocks &locks, const std::vector<size_t> &places);

  /// Locks, and prepares all buckets. Returns nothing if the step holds its locks and `finish` has
  /// to be called; or the result of `run` if there is nothing to do. If it throws, it holds
  /// nothing. Throws LockTimeout.
  std::optional<int64_t> begin(Lock &optimizer, const StorageLocks &locks,
                               const std::vector<size_t> &places, Patience patience = forever);
  /// Records and applies all buckets, and unlocks. If `record` refuses, applies none.
  void finish();
  /// Abandons all buckets, and unlocks. Has no effect unless the step holds its locks.
  void cancel();

protected:
  // All are called with the optimizer's lock held. From `prepare` on, the memory's locks are held
  // too.

  /// Whether the step was applied before.
  virtual bool isRepeated() const = 0;
  /// Throws if it refuses.
  virtual void takeHypers() = 0;
  virtual size_t bucketCount() const = 0;
  /// Doesn't write parameters or states. Throws if it refuses; then the bucket is not prepared.
  virtual void prepare(size_t bucket) = 0;
  /// Called before the first write. Afterwards the step counts as applied, because nothing can
  /// fail. Throws if it refuses.
  virtual void record() = 0;
  /// Never fails.
  virtual void apply(size_t bucket) = 0;
  /// Called instead of `apply`. Doesn't throw.
  virtual void abandon(size_t bucket) = 0;

private:
  Lock *held = nullptr; ///< the optimizer's
  std::optional<StorageLocks::Guard> exclusive;
  size_t done = 0, prepared = 0; ///< buckets
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_LOCKEDSTEP_H
