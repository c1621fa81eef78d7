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

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_MEMORYRANGE_H
