//===- MemoryRanges.h - Memory ranges and their owners ------------------------------*- C++ -*-===//
// Finds tensors that share memory. A step refuses tensors that overlap the memory that it writes.

#ifndef UPDRAFT_RUNTIME_BASE_MEMORYRANGES_H
#define UPDRAFT_RUNTIME_BASE_MEMORYRANGES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace updraft::runtime {

/// The bytes in [begin, end), and the number of their owner, which the caller chooses.
struct MemoryRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint32_t owner = 0;
  uint32_t part = 0; ///< a part of the owner

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

  /// Replaces the ranges, and drops empty ones. Returns false if two overlap, and sets `first` and
  /// `second` to them. If several are equal, these have the lowest owners.
  bool assign(std::vector<MemoryRange> all, const MemoryRange *&first, const MemoryRange *&second);

  /// Returns a range that overlaps `range`, or null. Valid until the set changes.
  const MemoryRange *find(const MemoryRange &range) const;
  /// The same, ignoring ranges with the same owner and part as `range`.
  const MemoryRange *findOther(const MemoryRange &range) const;

  /// Reserves memory, so that `count` calls of `insert` don't allocate.
  void reserve(size_t count);
  /// Inserts a range, which must not overlap others. Ignores an empty one.
  void insert(const MemoryRange &range);
  /// Removes the ranges of this owner and part.
  void erase(uint32_t owner, uint32_t part);

private:
  template <typename Predicate>
  const MemoryRange *findIf(const MemoryRange &range, Predicate predicate) const;
  void settle();

  std::vector<MemoryRange> sorted;
  /// A short list that is searched linearly, so that many insertions don't take quadratic time.
  std::vector<MemoryRange> recent;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_MEMORYRANGES_H
