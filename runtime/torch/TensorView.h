//===- TensorView.h - Tensors of torch as the C API sees them, and back -------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_TENSORVIEW_H
#define UPDRAFT_RUNTIME_TORCH_TENSORVIEW_H

#include "updraft/torch/Tensors.h"

namespace updraft::torch_adapter {

using torch::detail::scalarTypeOf;
using torch::detail::tensorOver;

/// A device in torch's and in the library's representation. To torch, the emulator's tensors are on
/// the CPU.
struct StepDevice {
  at::Device device = at::kCPU;
  upd_device kind = UPD_CPU;

  bool isCpu() const { return kind == UPD_CPU; }
  /// The index of the GPU; 0 for other devices.
  int32_t index() const { return kind == UPD_CUDA ? device.index() : 0; }
  static StepDevice of(const at::Tensor &tensor, bool emulated);
};

/// Returns a view of a dense real tensor on `on`. Shape and strides point into the tensor, and are
/// valid until it is resized. Throws if the tensor isn't dense and real, or is on another device.
/// `what` names it in the message.
upd_tensor viewOf(const at::Tensor &tensor, const char *what, const StepDevice &on = {});

/// Returns a complex tensor as a tensor of real pairs, with one more dimension. Returns other
/// tensors unchanged.
at::Tensor realOf(const at::Tensor &tensor);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_TENSORVIEW_H
