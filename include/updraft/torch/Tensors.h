//===- updraft/torch/Tensors.h - Tensors of torch as the C API sees them, and back --*- C++ -*-===//

#ifndef UPDRAFT_TORCH_TENSORS_H
#define UPDRAFT_TORCH_TENSORS_H

#include "updraft-c/types.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include <functional>
#include <string>

namespace updraft {
inline namespace v1 {
namespace torch {
namespace detail {

/// Throws the library's error.
inline void check(upd_status status) {
  if (C10_UNLIKELY(status != UPD_OK))
    TORCH_CHECK(false, upd_last_error());
}

struct TypePair {
  upd_dtype ours;
  at::ScalarType theirs;
};
// torch doesn't have the types of blocks. Their codes are bytes there.
inline constexpr TypePair typePairs[] = {
    {UPD_F32, at::kFloat},         {UPD_F64, at::kDouble}, {UPD_BF16, at::kBFloat16},
    {UPD_F16, at::kHalf},          {UPD_I8, at::kChar},    {UPD_Q8_LINEAR, at::kByte},
    {UPD_Q8_COMPANDED, at::kByte},
};

/// Returns torch's type for `dtype`, or a byte type if torch has none.
inline at::ScalarType scalarTypeOf(upd_dtype dtype) {
  for (const TypePair &pair : typePairs)
    if (pair.ours == dtype)
      return pair.theirs;
  return at::kFloat;
}

/// Returns whether the C API has the type, and which it is.
inline bool getType(at::ScalarType theirs, upd_dtype &ours) {
  for (const TypePair &pair : typePairs)
    if (pair.theirs == theirs) {
      ours = pair.ours;
      return true;
    }
  return false;
}

inline const char *nameOf(upd_dtype dtype) {
  switch (dtype) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  case constant:                                                                                   \
    return name;
#include "updraft-c/dtypes.def"
  }
  return "of an unknown type";
}

inline bool isBlocked(upd_dtype dtype) {
  return dtype == UPD_Q8_LINEAR || dtype == UPD_Q8_COMPANDED;
}

/// Prefetches the object itself, not the objects that it points to.
inline void prefetchTensor(const at::TensorImpl *tensor) {
  const char *bytes = reinterpret_cast<const char *>(tensor);
  for (size_t offset = 0; offset < sizeof(at::TensorImpl); offset += 64)
    __builtin_prefetch(bytes + offset);
  __builtin_prefetch(bytes + sizeof(at::TensorImpl) - 1);
}

/// Returns the address of the first element, like TensorImpl::data but with fewer calls. Null if
/// there is no memory, as for a storage of 0 bytes.
inline const void *dataOf(const at::TensorImpl &tensor) {
  const void *start = tensor.unsafe_storage().data();
  if (tensor.numel() == 0 || !start)
    return nullptr;
  return static_cast<const char *>(start) +
         tensor.dtype().itemsize() * static_cast<size_t>(tensor.storage_offset());
}

/// Returns a view. Shape and strides point into the tensor, and are valid until it is resized.
/// Throws if the tensor isn't a strided tensor of a type that the C API has, on a CPU or on an
/// NVIDIA GPU. `what` names it in the message.
inline upd_tensor viewOf(const at::Tensor &tensor, const std::string &what) {
  TORCH_CHECK_VALUE(tensor.defined(), what, " is undefined");
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided && !tensor.is_quantized(), what,
                              " must be a dense tensor, not ", tensor.toString());
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor.is_neg(), what,
                              " is a negated view of another tensor; give a tensor of its own, "
                              "such as `resolve_neg()` returns");
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.is_cpu() || tensor.is_cuda(), what, " is on ", tensor.device(),
                              "; only the CPU and CUDA devices are supported");
  upd_tensor view{};
  TORCH_CHECK_NOT_IMPLEMENTED(getType(tensor.scalar_type(), view.dtype), what, " has the dtype ",
                              tensor.scalar_type(),
                              "; Float, Double, BFloat16 and Half are supported");
  view.data = const_cast<void *>(dataOf(*tensor.unsafeGetTensorImpl()));
  view.shape = tensor.sizes().data();
  view.strides = tensor.strides().data();
  view.rank = static_cast<int32_t>(tensor.dim());
  view.device = tensor.is_cuda() ? UPD_CUDA : UPD_CPU;
  view.device_index = tensor.is_cuda() ? tensor.device().index() : 0;
  return view;
}

/// Returns a tensor over memory of the library. Its storage calls `release` when it is freed.
inline at::Tensor tensorOver(const upd_tensor &view, at::Device device,
                             const std::function<void(void *)> &release) {
  auto maker = at::for_blob(view.data, at::IntArrayRef(view.shape, view.rank));
  if (view.strides)
    maker.strides(at::IntArrayRef(view.strides, view.rank));
  // Without a device, torch would ask CUDA for the device of the memory.
  return maker.deleter(release)
      .options(at::TensorOptions(scalarTypeOf(view.dtype)).device(device))
      .target_device(device)
      .make_tensor();
}

/// Returns the tensor, or a copy of it that is on `device` and has these strides.
inline at::Tensor placed(const at::Tensor &tensor, at::IntArrayRef strides, at::Device device) {
  if (tensor.strides() == strides && tensor.device() == device)
    return tensor;
  at::Tensor copy = at::empty_strided(tensor.sizes(), strides, tensor.options().device(device));
  copy.copy_(tensor);
  return copy;
}

} // namespace detail
} // namespace torch
} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TORCH_TENSORS_H
