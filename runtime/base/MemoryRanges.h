//===- MemoryRanges.h - Memory and its owners ---------------------------------------*- C++ -*-===//
// Finds tensors that share memory. A step refuses those that overlap what it writes.

#ifndef UPDRAFT_RUNTIME_BASE_MEMORYRANGES_H
#define UPDRAFT_RUNTIME_BASE_MEMORYRANGES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace updraft::runtime {

/// The bytes in [begin, end), and their owner, which the user of a set numbers.
struct MemoryRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint32_t owner = 0;
  uint32_t part = 0; ///< of the owner

  MemoryRange() = default;
  MemoryRange(const void *data, size_t bytes, uint32_t owner = 0, uint32_t part = 0)
      : begin(reinterpret_cast<uintptr_t>(data)), end(begin + bytes), owner(owner), part(part) {}
  bool empty() const { return begin == end; }
  size_t size() const { return end - begin; }
};

/// Ranges that don't overlap. A look-up takes time logarithmic in their number.
class MemoryRanges {
public:
  bool empty() const { return sorted.empty() && recent.empty(); }

  /// Replaces the ranges, without the empty ones. Returns false if two overlap: `first` and
  /// `second`, the ones with the lowest owners of several equal ranges.
  bool assign(std::vector<MemoryRange> all, const MemoryRange *&first, const MemoryRange *&second);

  /// A range that overlaps `range`, or null. Valid until the set changes.
  const MemoryRange *find(const MemoryRange &range) const;
  /// The same, leaving out those of the range's own owner and part.
  const MemoryRange *findOther(const MemoryRange &range) const;

  /// Makes room for `count` more: as many calls of `insert` then allocate nothing.
  void reserve(size_t count);
  /// `range` overlaps none of the set. An empty one is left out.
  void insert(const MemoryRange &range);
  /// Removes the ranges of this owner and part.
  void erase(uint32_t owner, uint32_t part);

private:
  template <typename Predicate>
  const MemoryRange *findIf(const MemoryRange &range, Predicate predicate) const;
  void settle();

  std::vector<MemoryRange> sorted;
  /// Few, searched in order: so many insertions take no time quadratic in their number.
  std::vector<MemoryRange> recent;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_MEMORYRANGES_H
