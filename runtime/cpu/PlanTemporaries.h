//===- PlanTemporaries.h - Memory for values of rows, columns, batches --------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_PLANTEMPORARIES_H
#define UPDRAFT_RUNTIME_CPU_PLANTEMPORARIES_H

#include "runtime/base/PlanInterface.h"
#include "runtime/base/TensorShape.h"
#include "runtime/optimizer/StateArena.h"
#include "updraft-c/optimizer.h"

#include <vector>

namespace updraft::runtime {

/// The temporaries of a plan for a list of tensors, except matrices, in one allocation that is
/// reused.
class PlanTemporaries {
public:
  explicit PlanTemporaries(const PlanInterface &plan);

  bool empty() const { return plan.temporaries().empty(); }
  /// Called before `allocate` if a sweep over `matrices` reduces columns into temporary `index`.
  void markColumns(size_t index, Extent matrices);
  /// Whether the memory has temporary `index`: whether it isn't a matrix.
  bool has(size_t index) const { return !isMatrix(plan.temporaries()[index].over); }
  /// Throws std::bad_alloc if allocation fails.
  void allocate(const std::vector<TensorShape> &shapes);

  /// The values of temporary `index` of a tensor.
  void *values(size_t position, size_t index) const;
  /// The values of the blocks, for a temporary into which a sweep reduces columns.
  double *blockValues(size_t position, size_t index) const;

  /// Combines the values of the blocks into the values of the temporary, for tensors [begin, end).
  void combineColumns(ReductionInterface::Kind kind, size_t index,
                      const std::vector<TensorShape> &shapes, size_t begin, size_t end,
                      const upd_pool &pool) const;

private:
  struct Place {
    size_t values; // offset in bytes
    size_t blocks;
  };

  void combineColumns(ReductionInterface::Kind kind, size_t index, size_t position,
                      const TensorShape &shape, int64_t begin, int64_t end) const;

  const PlanInterface &plan;
  std::vector<char> hasBlocks;       // for each temporary
  std::vector<Extent> reduced;       // the matrices whose columns are reduced into a temporary
  std::vector<Place> places;         // for each tensor and temporary
  std::vector<size_t> columnsBefore; // in the tensors before each, over all batches; then the total
  StateArena memory;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_PLANTEMPORARIES_H
