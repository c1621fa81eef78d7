//===- MemoryRange.cpp - The memory that a parameter covers -----------------------------------===//

#include "runtime/dist/MemoryRange.h"

#include <algorithm>
#include <numeric>

using namespace updraft::dist;

std::optional<std::pair<size_t, size_t>>
updraft::dist::findOverlap(const std::vector<MemoryRange> &ranges) {
  std::vector<size_t> places(ranges.size());
  std::iota(places.begin(), places.end(), 0);
  std::erase_if(places, [&](size_t place) { return ranges[place].size() == 0; });
  std::sort(places.begin(), places.end(), [&](size_t left, size_t right) {
    return std::pair(ranges[left].begin, left) < std::pair(ranges[right].begin, right);
  });
  // Until two overlap, the one before ends last of all before.
  for (size_t i = 1; i < places.size(); ++i)
    if (ranges[places[i - 1]].overlaps(ranges[places[i]]))
      return std::minmax({places[i - 1], places[i]});
  return std::nullopt;
}

ApartRanges::ApartRanges(const std::vector<MemoryRange> &ranges) {
  for (size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].size() != 0)
      sorted.emplace_back(ranges[i], i);
  std::sort(sorted.begin(), sorted.end(), [](const auto &left, const auto &right) {
    return left.first.begin < right.first.begin;
  });
}

std::optional<size_t> ApartRanges::find(const MemoryRange &range) const {
  const auto found = std::upper_bound(
      sorted.begin(), sorted.end(), range.begin,
      [](uintptr_t address, const auto &entry) { return address < entry.first.end; });
  return found != sorted.end() && found->first.overlaps(range) ? std::optional(found->second)
                                                               : std::nullopt;
}
