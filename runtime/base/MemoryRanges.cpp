//===- MemoryRanges.cpp - Memory ranges and their owners --------------------------------------===//

#include "runtime/base/MemoryRanges.h"

#include <algorithm>
#include <tuple>
#include <utility>

using namespace updraft::runtime;

static constexpr size_t maxRecent = 64;

static bool startsBefore(const MemoryRange &a, const MemoryRange &b) { return a.begin < b.begin; }
static bool overlap(const MemoryRange &a, const MemoryRange &b) {
  return a.begin < b.end && b.begin < a.end;
}

bool MemoryRanges::assign(std::vector<MemoryRange> all, const MemoryRange *&first,
                          const MemoryRange *&second) {
  sorted = std::move(all);
  recent.clear();
  sorted.erase(std::remove_if(sorted.begin(), sorted.end(),
                              [](const MemoryRange &range) { return range.empty(); }),
               sorted.end());
  std::sort(sorted.begin(), sorted.end(), [](const MemoryRange &a, const MemoryRange &b) {
    return std::tie(a.begin, a.owner) < std::tie(b.begin, b.owner);
  });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (overlap(sorted[i - 1], sorted[i])) {
      first = &sorted[i - 1];
      second = &sorted[i];
      return false;
    }
  return true;
}

template <typename Predicate>
const MemoryRange *MemoryRanges::findIf(const MemoryRange &range, Predicate predicate) const {
  if (range.empty())
    return nullptr;
  // The ranges don't overlap, so their ends are sorted too. Finds the first range that ends after
  // the beginning.
  auto found = std::upper_bound(
      sorted.begin(), sorted.end(), range.begin,
      [](uintptr_t address, const MemoryRange &other) { return address < other.end; });
  for (; found != sorted.end() && overlap(*found, range); ++found)
    if (predicate(*found))
      return &*found;
  for (const MemoryRange &other : recent)
    if (overlap(other, range) && predicate(other))
      return &other;
  return nullptr;
}

const MemoryRange *MemoryRanges::find(const MemoryRange &range) const {
  return findIf(range, [](const MemoryRange &) { return true; });
}

const MemoryRange *MemoryRanges::findOther(const MemoryRange &range) const {
  return findIf(range, [&](const MemoryRange &other) {
    return other.owner != range.owner || other.part != range.part;
  });
}

void MemoryRanges::reserve(size_t count) {
  recent.reserve(std::max(recent.size() + count, maxRecent));
  const size_t needed = sorted.size() + recent.size() + count;
  if (needed > sorted.capacity())
    sorted.reserve(std::max(needed, 2 * sorted.capacity()));
}

void MemoryRanges::insert(const MemoryRange &range) {
  if (range.empty())
    return;
  recent.push_back(range);
  if (recent.size() >= maxRecent)
    settle();
}

void MemoryRanges::settle() {
  std::sort(recent.begin(), recent.end(), startsBefore);
  // Merges in place, from the back.
  size_t old = sorted.size(), added = recent.size();
  sorted.insert(sorted.end(), recent.begin(), recent.end());
  while (old != 0 && added != 0) {
    const bool takeOld = startsBefore(recent[added - 1], sorted[old - 1]);
    sorted[old + added - 1] = takeOld ? sorted[old - 1] : recent[added - 1];
    --(takeOld ? old : added);
  }
  std::copy(recent.begin(), recent.begin() + static_cast<ptrdiff_t>(added), sorted.begin());
  recent.clear();
}

void MemoryRanges::erase(uint32_t owner, uint32_t part) {
  auto matches = [&](const MemoryRange &range) {
    return range.owner == owner && range.part == part;
  };
  std::erase_if(sorted, matches);
  std::erase_if(recent, matches);
}
