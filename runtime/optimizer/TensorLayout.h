//===- TensorLayout.h - Shapes and strides of dense tensors -------------------------*- C++ -*-===//
// A step treats a tensor as one run of elements, in the order in which they lie in memory. That is
// right for every dense tensor, whatever the order of its dimensions, as long as the tensors of one
// parameter have the same layout.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_TENSORLAYOUT_H
#define UPDRAFT_RUNTIME_OPTIMIZER_TENSORLAYOUT_H

#include "runtime/base/Status.h"
#include "runtime/optimizer/TensorDevice.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::runtime {

/// The layout of a dense tensor; shape and strides have `rank` elements, and lie with the owner.
struct TensorLayout {
  const int64_t *shape = nullptr;
  const int64_t *strides = nullptr;
  int64_t elements = 1;
  int32_t rank = 0;
  bool rowMajor = true; // no strides would say the same
};

constexpr int32_t maxRank = 64;

/// Appends the tensor's shape and then its strides, those of a row-major tensor where it has none,
/// to `dimensions`, and fills in the rest of `layout`. Refuses what is no shape, and what is not
/// dense. `subject` starts the messages: "parameter `w`".
Status readLayout(const upd_tensor &tensor, const std::string &subject,
                  std::vector<int64_t> &dimensions, TensorLayout &layout);

/// Whether an element has the same place in both. The stride of a dimension of size 1 does not
/// count.
inline bool hasLayout(const upd_tensor &tensor, const TensorLayout &layout) {
  if (tensor.rank != layout.rank)
    return false;
  if (layout.rank == 0)
    return true;
  if (!tensor.shape)
    return false;
  for (int32_t i = 0; i < layout.rank; ++i)
    if (tensor.shape[i] != layout.shape[i])
      return false;
  if (!tensor.strides)
    return layout.rowMajor;
  if (layout.elements == 0)
    return true;
  for (int32_t i = 0; i < layout.rank; ++i)
    if (tensor.strides[i] != layout.strides[i] && layout.shape[i] != 1)
      return false;
  return true;
}

/// "[2, 3]", or "[2, 3] with strides [1, 2]" if it has strides.
std::string layoutText(const upd_tensor &tensor);

/// What is said of a tensor that has not the layout of `owner`: both shapes, or where they are the
/// same both strides.
std::string otherLayoutText(const std::string &subject, const upd_tensor &tensor,
                            const TensorLayout &layout, const std::string &owner = "the parameter");

/// Refuses what no kernel can run on: an unknown dtype, another dtype than `expected`, another
/// device than `device`, null data with elements, data that is not aligned to its elements.
/// `subject` starts the messages, and `wanted` names what the rule has: "parameters".
Status checkMemory(const upd_tensor &tensor, const TensorDevice &device, upd_dtype expected,
                   int64_t elements, const std::string &subject, const std::string &wanted);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_TENSORLAYOUT_H
