//===- TensorView.h - Tensors of torch as the C API sees them, and back -------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_TENSORVIEW_H
#define UPDRAFT_RUNTIME_TORCH_TENSORVIEW_H

#include "updraft-c/types.h"

#include <ATen/core/Tensor.h>

#include <functional>

namespace updraft::torch_adapter {

/// A device as torch names it, and as the library does. Tensors of the emulator are torch's on the
/// CPU.
struct StepDevice {
  at::Device device = at::kCPU;
  upd_device kind = UPD_CPU;

  bool isCpu() const { return kind == UPD_CPU; }
  /// Of several GPUs.
  int32_t index() const { return kind == UPD_CUDA ? device.index() : 0; }
  static StepDevice of(const at::Tensor &tensor, bool emulated);
};

/// A dense real tensor on `on`. Shape and strides are the tensor's own memory: valid until it is
/// resized. Throws if it is of another kind, or elsewhere; `what` names it.
upd_tensor viewOf(const at::Tensor &tensor, const char *what, const StepDevice &on = {});

/// torch's type of elements; a byte of what it has no type for.
at::ScalarType scalarTypeOf(upd_dtype dtype);

/// A tensor over memory of the library, which `release` gives up with the tensor's storage.
at::Tensor tensorOver(const upd_tensor &view, const std::function<void(void *)> &release,
                      const StepDevice &on = {});

/// A complex tensor as one of real pairs, with one dimension more; others as they are.
at::Tensor realOf(const at::Tensor &tensor);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_TENSORVIEW_H
