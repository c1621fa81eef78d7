//===- LockedStep.cpp - A worker's step under locks -------------------------------------------===//

#include "runtime/dist/LockedStep.h"

#include "runtime/dist/LockWait.h"

using namespace updraft::dist;

int64_t LockedStep::run(std::mutex &optimizer, const StorageLocks &locks,
                        const std::vector<size_t> &places) {
  lockCounted(optimizer);
  const std::lock_guard guard(optimizer, std::adopt_lock);
  if (isRepeated())
    return alreadyApplied;
  takeHypers();
  if (places.empty())
    return 0;
  {
    const StorageLocks::Guard exclusive(locks, places);
    Prepared prepared{*this};
    for (; prepared.end < bucketCount(); ++prepared.end)
      prepare(prepared.end);
    record();
    for (; prepared.begin < prepared.end; ++prepared.begin)
      apply(prepared.begin);
  }
  return static_cast<int64_t>(places.size());
}
