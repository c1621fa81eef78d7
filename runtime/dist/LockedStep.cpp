//===- LockedStep.cpp - A worker's step under locks -------------------------------------------===//

#include "runtime/dist/LockedStep.h"

#include <utility>

using namespace updraft::dist;

void LockedStep::cancel() {
  for (; done < prepared; ++done)
    abandon(done);
  exclusive.reset();
  if (Lock *const lock = std::exchange(held, nullptr))
    lock->unlock();
}

std::optional<int64_t> LockedStep::begin(Lock &optimizer, const StorageLocks &locks,
                                         const std::vector<size_t> &places, Patience patience) {
  if (!optimizer.lock(patience))
    throw LockTimeout();
  held = &optimizer;
  try {
    if (isRepeated()) {
      cancel();
      return alreadyApplied;
    }
    takeHypers();
    if (places.empty()) {
      cancel();
      return 0;
    }
    exclusive = locks.lock(places, patience);
    if (!exclusive)
      throw LockTimeout();
    for (; prepared < bucketCount(); ++prepared)
      prepare(prepared);
    return std::nullopt;
  } catch (...) {
    cancel();
    throw;
  }
}

void LockedStep::finish() {
  try {
    record();
  } catch (...) {
    cancel();
    throw;
  }
  for (; done < prepared; ++done)
    apply(done);
  cancel();
}

int64_t LockedStep::run(Lock &optimizer, const StorageLocks &locks,
                        const std::vector<size_t> &places) {
  if (const std::optional<int64_t> result = begin(optimizer, locks, places))
    return *result;
  finish();
  return static_cast<int64_t>(places.size());
}
