//===- StorageLocks.cpp - One lock for each storage of the process ----------------------------===//

#include "runtime/dist/StorageLocks.h"

#include "runtime/dist/LockWait.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

using namespace updraft::dist;

namespace {
/// The locks that somebody has. Lives for ever: threads of a pool may outlive static objects.
class Registry {
public:
  static Registry &process() {
    static auto *registry = new Registry;
    return *registry;
  }

  std::vector<std::shared_ptr<std::mutex>> get(const std::vector<const void *> &storages) {
    std::lock_guard guard(mutex);
    std::vector<std::shared_ptr<std::mutex>> result;
    result.reserve(storages.size());
    for (const void *storage : storages) {
      std::weak_ptr<std::mutex> &known = locks[storage];
      std::shared_ptr<std::mutex> lock = known.lock();
      if (!lock)
        known = lock = std::make_shared<std::mutex>();
      result.push_back(std::move(lock));
    }
    // Each look at all entries is paid for by as many that were added since the last one.
    if (locks.size() > 2 * keptAfterSweep + 64) {
      std::erase_if(locks, [](const auto &entry) { return entry.second.expired(); });
      keptAfterSweep = locks.size();
    }
    return result;
  }

private:
  std::mutex mutex;
  std::unordered_map<const void *, std::weak_ptr<std::mutex>> locks;
  size_t keptAfterSweep = 0;
};
} // namespace

StorageLocks::StorageLocks(const std::vector<const void *> &storages) {
  std::vector<const void *> sorted = storages;
  std::sort(sorted.begin(), sorted.end(), std::less<>());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  byRank = Registry::process().get(sorted);
  ranks.reserve(storages.size());
  for (const void *storage : storages)
    ranks.push_back(std::lower_bound(sorted.begin(), sorted.end(), storage, std::less<>()) -
                    sorted.begin());
}

StorageLocks::Guard::Guard(const StorageLocks &locks, const std::vector<size_t> &places) {
  std::vector<size_t> wanted;
  wanted.reserve(places.size());
  for (size_t place : places)
    wanted.push_back(locks.ranks[place]);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  held.reserve(wanted.size());
  for (size_t rank : wanted) {
    held.push_back(locks.byRank[rank].get());
    lockCounted(*held.back());
  }
}

StorageLocks::Guard::~Guard() {
  for (std::mutex *lock : held)
    lock->unlock();
}
