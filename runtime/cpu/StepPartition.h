//===- StepPartition.h - The distribution of elements over threads ------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_STEPPARTITION_H
#define UPDRAFT_RUNTIME_CPU_STEPPARTITION_H

#include "updraft-c/kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace updraft::runtime {

/// A position in the ranges of a list of tensors.
struct StepBoundary {
  size_t tensor;   // an index into the list, or the end of the list
  int64_t element; // in units of the range; less than its end, or 0

  bool operator==(const StepBoundary &) const = default;
};

/// Cuts the elements of a list of tensors into contiguous parts of about equal cost, which may be
/// empty. Part i is from boundary i to boundary i + 1. Depends only on the arguments, so a thread
/// gets the same elements in every step.
class StepPartition {
public:
  /// The cost of a kernel call for a tensor, expressed in elements.
  static constexpr int64_t tensorCost = 32;

  /// `costOf(i)` is the elements of tensor i in [first, last) plus tensorCost, and `total` the sum.
  /// `cutOf(i, offset)` returns the boundary in tensor i that is closest to element `offset`.
  template <typename CostOf, typename CutOf>
  void assign(size_t first, size_t last, CostOf costOf, CutOf cutOf, int64_t total, size_t parts) {
    bounds.assign(parts + 1, StepBoundary{last, 0});
    bounds[0] = {first, 0};
    size_t part = 1;
    int64_t before = 0; // the cost of the tensors before this one
    for (size_t tensor = first; tensor < last && part < parts; ++tensor) {
      const int64_t after = before + costOf(tensor);
      while (part < parts && target(total, part, parts) < after)
        bounds[part] = cutOf(tensor, target(total, part, parts) - before), ++part;
      before = after;
    }
  }

  /// The same for ranges of elements, cut at leaves. `elementsOf` doesn't include tensorCost.
  template <typename ElementsOf>
  void assign(size_t tensors, ElementsOf elementsOf, int64_t total, size_t parts) {
    assign(
        0, tensors, [&](size_t tensor) { return elementsOf(tensor) + tensorCost; },
        [&](size_t tensor, int64_t offset) { return leafNear(tensor, elementsOf(tensor), offset); },
        total, parts);
  }

  /// Returns the boundary at the multiple of UPD_LEAF_ELEMENTS that is closest to `offset`.
  static StepBoundary leafNear(size_t tensor, int64_t elements, int64_t offset) {
    return boundary(tensor, elements, offset, UPD_LEAF_ELEMENTS, UPD_LEAF_ELEMENTS);
  }
  /// The same for starts of the tensor's blocks. `blocks` is their number.
  static StepBoundary blockNear(size_t tensor, int64_t elements, int64_t blocks, int64_t offset) {
    const int64_t perBlock = blocks > 1 && elements > blocks ? elements / blocks : 1;
    return boundary(tensor, blocks, offset, perBlock, 1);
  }

  size_t parts() const { return bounds.empty() ? 0 : bounds.size() - 1; }
  const StepBoundary &operator[](size_t i) const { return bounds[i]; }

private:
  static int64_t target(int64_t total, size_t part, size_t parts);
  static StepBoundary boundary(size_t tensor, int64_t end, int64_t offset, int64_t unitCost,
                               int64_t unit);

  std::vector<StepBoundary> bounds;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_STEPPARTITION_H
