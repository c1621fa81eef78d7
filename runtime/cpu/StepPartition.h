//===- StepPartition.h - Which thread runs which elements ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_STEPPARTITION_H
#define UPDRAFT_RUNTIME_CPU_STEPPARTITION_H

#include "updraft-c/kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace updraft::runtime {

/// A place in the ranges of a list of tensors.
struct StepBoundary {
  size_t tensor;   // an index into the list, or its size at the end
  int64_t element; // where a range may begin; less than its end, or 0

  bool operator==(const StepBoundary &) const = default;
};

/// Cuts the elements of a list of tensors into `parts` contiguous parts of about equal cost: part i
/// is from result[i] to result[i + 1]. Parts may be empty. Depends on nothing but the arguments, so
/// that a thread gets the same elements in every step.
class StepPartition {
public:
  /// The cost of a tensor beside its elements, in elements: what calling a kernel costs.
  static constexpr int64_t tensorCost = 32;

  /// `costOf(i)` for tensors i in [first, last), the elements plus tensorCost; `total` is their
  /// sum. `cutOf(i, offset)` is the boundary in tensor i near so many of its elements.
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

  /// The same for ranges of elements, cut at leaves; `elementsOf` is without tensorCost.
  template <typename ElementsOf>
  void assign(size_t tensors, ElementsOf elementsOf, int64_t total, size_t parts) {
    assign(
        0, tensors, [&](size_t tensor) { return elementsOf(tensor) + tensorCost; },
        [&](size_t tensor, int64_t offset) { return leafNear(tensor, elementsOf(tensor), offset); },
        total, parts);
  }

  /// The boundary at the multiple of UPD_LEAF_ELEMENTS that is closest.
  static StepBoundary leafNear(size_t tensor, int64_t elements, int64_t offset) {
    return boundary(tensor, elements, offset, UPD_LEAF_ELEMENTS, UPD_LEAF_ELEMENTS);
  }
  /// That at the closest of the `blocks` blocks of a tensor.
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
