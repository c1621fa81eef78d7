//===- ContextStep.cpp - A worker's step from one context -------------------------------------===//

#include "runtime/dist/ContextStep.h"

#include "runtime/dist/LockWait.h"

using namespace updraft::dist;

int64_t ContextStep::run(StepProgress &progress, const StorageLocks &locks,
                         const std::vector<size_t> &places) {
  lockCounted(progress.mutex);
  const std::lock_guard guard(progress.mutex, std::adopt_lock);
  if (progress.applied.count(number, context) > before)
    return alreadyApplied;
  takeHypers();
  if (places.empty())
    return 0;
  {
    const StorageLocks::Guard exclusive(locks, places);
    Prepared prepared{*this};
    for (; prepared.end < bucketCount(); ++prepared.end)
      prepare(prepared.end);
    // Allocates memory before the first write. After the first write, nothing can fail.
    progress.applied.set(number, context, before + 1);
    for (; prepared.begin < prepared.end; ++prepared.begin)
      apply(prepared.begin);
  }
  return static_cast<int64_t>(places.size());
}
