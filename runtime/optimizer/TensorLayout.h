//===- TensorLayout.h - Shapes and strides of dense tensors -------------------------*- C++ -*-===//
// An elementwise sweep treats a tensor as a sequence of elements in memory order. This is correct
// for every dense tensor, in any order of dimensions, as long as all tensors of a parameter have
// the same layout.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_TENSORLAYOUT_H
#define UPDRAFT_RUNTIME_OPTIMIZER_TENSORLAYOUT_H

#include "runtime/base/Status.h"
#include "runtime/base/TensorShape.h"
#include "runtime/optimizer/TensorDevice.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::runtime {

/// The layout of a dense tensor. The owner keeps the memory of `shape` and `strides`, which have
/// `rank` elements.
struct TensorLayout {
  const int64_t *shape = nullptr;
  const int64_t *strides = nullptr;
  int64_t elements = 1;
  int32_t rank = 0;
  bool rowMajor = true; // the same as without strides
};

/// The rows, columns and batches of a tensor.
inline TensorShape shapeOf(const TensorLayout &layout) {
  if (layout.rank < 2)
    return {1, 1, layout.elements};
  TensorShape result{1, layout.shape[layout.rank - 2], layout.shape[layout.rank - 1]};
  for (int32_t i = 0; i < layout.rank - 2; ++i)
    result.batches *= layout.shape[i];
  return result;
}

constexpr int32_t maxRank = 64;

/// Appends the tensor's shape and then its strides to `dimensions`, and sets `layout`, which points
/// into `dimensions`. A tensor without strides is row-major. Refuses invalid shapes and tensors
/// that aren't dense. `subject` starts the messages: "parameter `w`".
Status readLayout(const upd_tensor &tensor, const std::string &subject,
                  std::vector<int64_t> &dimensions, TensorLayout &layout);

/// Whether each element has the same offset in both. Ignores the strides of dimensions of size 1.
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
/// "[2, 3] with strides [1, 2]"
std::string layoutText(const TensorLayout &layout);
/// "[2, 3]"
std::string shapeText(const TensorLayout &layout);

/// Returns the error message for a tensor whose layout isn't that of `owner`. It contains both
/// shapes or, if these are equal, both strides.
std::string otherLayoutText(const std::string &subject, const upd_tensor &tensor,
                            const TensorLayout &layout, const std::string &owner = "the parameter");

/// Refuses tensors that kernels can't use: an unknown dtype, a dtype other than `expected`, a
/// device other than `device`, null data with elements, unaligned data, data beyond the end of
/// memory. `subject` starts the messages, and `wanted` names the rule's tensors: "parameters".
Status checkMemory(const upd_tensor &tensor, const TensorDevice &device, upd_dtype expected,
                   int64_t elements, const std::string &subject, const std::string &wanted);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_TENSORLAYOUT_H
