//===- MemoryRanges.h - Which memory is whose ---------------------------------------*- C++ -*-===//
// The memory that a step writes, to refuse tensors that overlap it.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_MEMORYRANGES_H
#define UPDRAFT_RUNTIME_OPTIMIZER_MEMORYRANGES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace updraft::runtime {

/// The bytes from `begin` up to `end`, and whose they are.
struct MemoryRange {
  uintptr_t begin;
  uintptr_t end;
  uint32_t owner; // as the user of the set numbers them
  uint32_t part;

  MemoryRange(const void *data, size_t bytes, uint32_t owner, uint32_t part)
      : begin(reinterpret_cast<uintptr_t>(data)), end(begin + bytes), owner(owner), part(part) {}
  bool empty() const { return begin == end; }
};

/// Ranges that do not overlap. Looking up takes the logarithm of their number.
class MemoryRanges {
public:
  /// Takes any ranges, and leaves out empty ones. Returns false if two overlap: `first` and
  /// `second`.
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

#endif // UPDRAFT_RUNTIME_OPTIMIZER_MEMORYRANGES_H
