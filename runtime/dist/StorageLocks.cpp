//===- StorageLocks.cpp - Locks for the memory that steps write -------------------------------===//

#include "runtime/dist/StorageLocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <mutex>

using namespace updraft::dist;
using updraft::runtime::MemoryRange;

using SharedLock = std::shared_ptr<Lock>;

namespace {
/// The locked ranges. Each has its own lock, and also uses the locks of earlier ranges that overlap
/// it. So of any two overlapping ranges, the later one uses the lock of the earlier. Never
/// destroyed, because threads of a pool may outlive static objects.
class Registry {
public:
  static Registry &process() {
    static auto *registry = new Registry;
    return *registry;
  }

  std::vector<std::vector<SharedLock>> get(const std::vector<MemoryRange> &ranges) {
    std::lock_guard guard(mutex);
    std::vector<std::vector<SharedLock>> result;
    result.reserve(ranges.size());
    for (const MemoryRange &range : ranges)
      result.push_back(range.empty() ? std::vector<SharedLock>() : get(range));
    // Checks all entries only after as many were added since the last check.
    if (count > 2 * keptAfterSweep + 64) {
      count = 0;
      for (Ranges &some : byLength) {
        std::erase_if(some, [](const auto &entry) { return entry.second.expired(); });
        count += some.size();
      }
      keptAfterSweep = count;
    }
    return result;
  }

private:
  using Ranges = std::map<std::pair<uintptr_t, uintptr_t>, std::weak_ptr<Lock>>;

  std::vector<SharedLock> get(const MemoryRange &range) {
    std::vector<SharedLock> result;
    bool isKnown = false;
    for (size_t length = 0; length < byLength.size(); ++length) {
      const Ranges &some = byLength[length];
      if (some.empty())
        continue;
      // Ranges that begin earlier are too short to reach this one.
      const uintptr_t longest = std::numeric_limits<uintptr_t>::max() >> (lengths - 1 - length);
      const uintptr_t first = range.begin > longest ? range.begin - longest : 0;
      for (auto entry = some.lower_bound({first, 0});
           entry != some.end() && entry->first.first < range.end; ++entry) {
        const auto &[begin, end] = entry->first;
        if (end <= range.begin)
          continue;
        if (SharedLock lock = entry->second.lock()) {
          isKnown |= begin == range.begin && end == range.end;
          result.push_back(std::move(lock));
        }
      }
    }
    if (isKnown)
      return result;
    result.push_back(std::make_shared<Lock>());
    Ranges &same = byLength[static_cast<size_t>(std::bit_width(range.size())) - 1];
    count += same.insert_or_assign({range.begin, range.end}, result.back()).second;
    return result;
  }

  static constexpr size_t lengths = std::numeric_limits<uintptr_t>::digits;

  std::mutex mutex;
  /// By the number of bits of the length, minus one (lengths aren't 0). So a range that may overlap
  /// another is close to it.
  std::array<Ranges, lengths> byLength;
  size_t count = 0, keptAfterSweep = 0;
};
} // namespace

StorageLocks::StorageLocks(const std::vector<MemoryRange> &ranges,
                           std::function<std::string(size_t)> nameOf)
    : nameOf(std::move(nameOf)) {
  const std::vector<std::vector<SharedLock>> byPlace = Registry::process().get(ranges);
  for (const std::vector<SharedLock> &some : byPlace)
    locks.insert(locks.end(), some.begin(), some.end());
  std::sort(locks.begin(), locks.end());
  locks.erase(std::unique(locks.begin(), locks.end()), locks.end());
  ends.reserve(ranges.size());
  for (const std::vector<SharedLock> &some : byPlace) {
    for (const SharedLock &lock : some)
      numbers.push_back(
          static_cast<size_t>(std::lower_bound(locks.begin(), locks.end(), lock) - locks.begin()));
    ends.push_back(numbers.size());
  }
}

bool StorageLocks::Guard::lock(const StorageLocks &locks, const std::vector<size_t> &places,
                               Patience patience) {
  std::vector<size_t> wanted;
  wanted.reserve(places.size());
  for (size_t place : places)
    for (size_t i = place == 0 ? 0 : locks.ends[place - 1]; i < locks.ends[place]; ++i)
      wanted.push_back(locks.numbers[i]);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  held.reserve(wanted.size());
  for (size_t number : wanted) {
    if (!locks.locks[number]->lock(patience, [&] { return locks.describe(number, places); }))
      return false; // the destructor releases the others
    held.push_back(locks.locks[number].get());
  }
  return true;
}

/// The name of the first of some places that use a lock.
std::string StorageLocks::describe(size_t number, const std::vector<size_t> &places) const {
  for (const size_t place : places) {
    const auto begin =
        numbers.begin() + static_cast<std::ptrdiff_t>(place == 0 ? 0 : ends[place - 1]);
    const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(ends[place]);
    if (nameOf && std::find(begin, end, number) != end)
      return nameOf(place);
  }
  return "a parameter";
}

std::optional<StorageLocks::Guard> StorageLocks::lock(const std::vector<size_t> &places,
                                                      Patience patience) const {
  Guard guard;
  if (!guard.lock(*this, places, patience))
    return std::nullopt;
  return guard;
}

StorageLocks::Guard::~Guard() {
  for (Lock *lock : held)
    lock->unlock();
}
