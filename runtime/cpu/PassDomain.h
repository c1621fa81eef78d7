//===- PassDomain.h - What a pass runs over -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_PASSDOMAIN_H
#define UPDRAFT_RUNTIME_CPU_PASSDOMAIN_H

#include "runtime/base/PlanInterface.h"
#include "runtime/cpu/StepPartition.h"
#include "runtime/optimizer/TensorShape.h"
#include "updraft-c/optimizer.h"

#include <vector>

namespace updraft::runtime {

/// The ranges of one kind in a list of tensors, and how threads share them. Passes of one kind
/// share a domain, so that a thread gets the same part of each.
class PassDomain {
public:
  enum class Kind : uint8_t {
    Elements,
    Rows,
    Columns,
    Batches,
    Blocks,    ///< of 64 rows
    BatchRows, ///< batches, for the rows in them
    BatchColumns
  };
  static Kind kindOf(const PassInterface &pass);

  /// What a thread has to have at least, in a step that several run.
  static constexpr int64_t threadCost = 16 * 1024;
  /// A pass over fewer elements than this (with StepPartition::tensorCost for each tensor) runs on
  /// the calling thread: waking another takes longer than it saves.
  static constexpr int64_t inlineCost = 32 * 1024;

  explicit PassDomain(Kind kind) : kind(kind) {}

  void clear();
  void add(const TensorShape &shape);

  Kind getKind() const { return kind; }
  /// Whether ranges are of blocks or batches with what is in them, not of single values.
  bool hasUnits() const { return kind >= Kind::Blocks; }
  size_t tensors() const { return ranges.size(); }
  /// All of a tensor; those of the next tensors follow.
  const upd_range *range(size_t position) const { return &ranges[position]; }
  /// The number of leaves (or blocks) in the tensors before this one, and where a range begins in
  /// its own.
  int64_t leavesBefore(size_t position) const { return firstLeaves[position]; }
  int64_t leafOf(int64_t begin) const { return hasUnits() ? begin : begin / UPD_LEAF_ELEMENTS; }
  int64_t leaves() const { return firstLeaves.back(); }

  /// How many threads of `pool` run over tensors of this cost.
  static size_t threadsFor(int64_t cost, const upd_pool &pool);
  int64_t costOf(size_t position) const {
    return StepPartition::tensorCost + (hasUnits() ? costs[position] : ranges[position].end);
  }
  /// The parts of tensors [begin, end) for the threads of `pool`. Kept until they are asked for of
  /// other tensors or another number of threads.
  const StepPartition &parts(size_t begin, size_t end, const upd_pool &pool);

private:
  Kind kind;
  std::vector<upd_range> ranges;
  std::vector<int64_t> costs; // of units; else the range's end is the cost
  std::vector<int64_t> firstLeaves = {0};
  StepPartition partition;
  size_t partitionBegin = 0, partitionEnd = 0; // of which tensors
  int64_t partitionCost = 0;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_PASSDOMAIN_H
