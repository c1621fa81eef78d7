//===- SweepDomain.h - The ranges that a sweep runs over ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_PASSDOMAIN_H
#define UPDRAFT_RUNTIME_CPU_PASSDOMAIN_H

#include "runtime/base/PlanInterface.h"
#include "runtime/base/TensorShape.h"
#include "runtime/cpu/StepPartition.h"
#include "updraft-c/optimizer.h"

#include <compare>
#include <vector>

namespace updraft::runtime {

/// The ranges of one kind in a list of tensors, and their distribution over threads. Sweeps of the
/// same kind share a domain, so a thread gets the same part in each.
class SweepDomain {
public:
  enum class Kind : uint8_t {
    Elements,
    Rows,
    Columns,
    Batches,
    Blocks,    ///< of UPD_BLOCK_ROWS rows
    BatchRows, ///< batches, with the rows in them
    BatchColumns
  };
  /// A kind, and the matrices that its elements or blocks are of.
  struct Key {
    Kind kind = Kind::Elements;
    Extent matrices = Extent::Element; // or other matrices
    auto operator<=>(const Key &) const = default;
  };
  static Key keyOf(const SweepInterface &sweep);
  /// The units of a range, for the timeline: "elements".
  static const char *nameOf(Kind kind);
  /// The matrices that sweeps run over, and that have sites of their own.
  static constexpr Extent siteMatrices[] = {Extent::Element,          Extent::RowsByRows,
                                            Extent::ColumnsByColumns, Extent::ChosenByColumns,
                                            Extent::RowsByChosen,     Extent::ChosenByChosen};
  /// The number of these, from the first on, that sweeps of a plan may run over.
  static size_t siteCountOf(const PlanInterface &plan) {
    return plan.chosen == 0 ? 3 : std::size(siteMatrices);
  }
  /// The position of the matrices of a key among these.
  static size_t siteIndexOf(Extent matrices);

  /// The minimum cost per thread if several threads run.
  static constexpr int64_t threadCost = 16 * 1024;
  /// A sweep over fewer elements than this (plus StepPartition::tensorCost for each tensor) runs on
  /// the calling thread, because waking another one takes longer than it saves.
  static constexpr int64_t inlineCost = 32 * 1024;

  /// At most. If a thread wakes up late, the caller may run some of its parts.
  static constexpr size_t partsPerThread = 4;

  explicit SweepDomain(Key key) : key(key) {}

  void clear();
  void add(const TensorShape &shape);

  Key getKey() const { return key; }
  /// Whether a range consists of blocks or whole batches instead of single values.
  bool hasUnits() const { return key.kind >= Kind::Blocks; }
  size_t tensors() const { return ranges.size(); }
  /// The range of a whole tensor. Those of the next tensors follow in memory.
  const upd_range *range(size_t position) const { return &ranges[position]; }
  /// The number of leaves, or units, in the tensors before this one.
  int64_t leavesBefore(size_t position) const { return firstLeaves[position]; }
  /// The leaf, or unit, of its tensor in which a range begins.
  int64_t leafOf(int64_t begin) const { return hasUnits() ? begin : begin / UPD_LEAF_ELEMENTS; }
  int64_t leaves() const { return firstLeaves.back(); }

  /// Returns the number of threads of `pool` for tensors of this total cost.
  static size_t threadsFor(int64_t cost, const upd_pool &pool);
  int64_t costOf(size_t position) const {
    return StepPartition::tensorCost + (hasUnits() ? costs[position] : ranges[position].end);
  }
  /// Distributes tensors [begin, end) over the threads of `pool`, with equally many parts for each.
  /// The result is valid until the next call, and cached for calls with the same tensors and number
  /// of threads.
  const StepPartition &parts(size_t begin, size_t end, const upd_pool &pool);

private:
  Key key;
  std::vector<upd_range> ranges;
  std::vector<int64_t> costs; // if hasUnits(); else the cost is the end of the range
  std::vector<int64_t> firstLeaves = {0};
  StepPartition partition;
  size_t partitionBegin = 0, partitionEnd = 0; // the tensors in `partition`
  int64_t partitionCost = 0;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_PASSDOMAIN_H
