//===- MemoryRange.h - The memory that a parameter covers ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_MEMORYRANGE_H
#define UPDRAFT_RUNTIME_DIST_MEMORYRANGE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace updraft::dist {

/// Addresses from `begin` to before `end`; none if they are equal.
struct MemoryRange {
  uintptr_t begin = 0, end = 0;

  MemoryRange() = default;
  MemoryRange(const void *start, size_t bytes)
      : begin(reinterpret_cast<uintptr_t>(start)), end(begin + bytes) {}

  size_t size() const { return end - begin; }
  bool overlaps(const MemoryRange &other) const {
    return size() != 0 && other.size() != 0 && begin < other.end && other.begin < end;
  }
  bool operator==(const MemoryRange &) const = default;
};

/// The places of two ranges of the list that overlap, the smaller first, if there are any.
std::optional<std::pair<size_t, size_t>> findOverlap(const std::vector<MemoryRange> &ranges);

/// Ranges of which no two overlap. Looking up takes the logarithm of their number.
class ApartRanges {
public:
  ApartRanges() = default;
  explicit ApartRanges(const std::vector<MemoryRange> &ranges);

  bool empty() const { return sorted.empty(); }
  /// The place in the list of a range that overlaps this one, if there is any.
  std::optional<size_t> find(const MemoryRange &range) const;

private:
  std::vector<std::pair<MemoryRange, size_t>> sorted;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_MEMORYRANGE_H
