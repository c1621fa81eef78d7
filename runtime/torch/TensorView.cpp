//===- TensorView.cpp - Tensors of torch as the C API sees them, and back ---------------------===//

#include "runtime/torch/TensorView.h"

#include "runtime/base/EmulatorDevice.h"
#include "runtime/torch/TensorMemory.h"

#include <ATen/ops/view_as_real.h>

using namespace updraft::torch_adapter;

StepDevice StepDevice::of(const at::Tensor &tensor, bool emulated) {
  const at::Device device = tensor.device();
  if (emulated)
    return {device, updraft::runtime::emulatorDevice};
  // `viewOf` refuses tensors on other devices.
  return device.is_cuda() ? StepDevice{device, UPD_CUDA} : StepDevice{};
}

upd_tensor updraft::torch_adapter::viewOf(const at::Tensor &tensor, const char *what,
                                          const StepDevice &on) {
  // A subclass that intercepts operators has its data in another tensor, or has none.
  TORCH_CHECK_TYPE(!tensor.key_set().has(c10::DispatchKey::Python), what,
                   " is a wrapper subclass of Tensor, whose memory is not its own");
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided && !tensor.is_quantized() &&
                                  tensor.is_non_overlapping_and_dense(),
                              what, " must be a dense tensor, not ", tensor.toString());
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor.is_neg(), what,
                              " is a negated view of another tensor; give a tensor of its own, "
                              "such as `resolve_neg()` returns");
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.device() == on.device, what, " is on ", tensor.device(),
                              "; the step is compiled for ",
                              on.isCpu() ? "the CPU" : on.device.str());
  upd_tensor view{};
  TORCH_CHECK_NOT_IMPLEMENTED(updraft::torch::detail::getType(tensor.scalar_type(), view.dtype),
                              what, " has the dtype ", tensor.scalar_type(),
                              "; float32, float64, bfloat16 and float16 can be");
  view.data = tensor.data_ptr();
  // If there is no memory, an offset would make the pointer non-null.
  if (!dataOf(*tensor.unsafeGetTensorImpl()))
    view.data = nullptr;
  view.shape = tensor.sizes().data();
  view.strides = tensor.strides().data();
  view.rank = static_cast<int32_t>(tensor.dim());
  view.device = on.kind;
  view.device_index = on.index();
  return view;
}

at::Tensor updraft::torch_adapter::realOf(const at::Tensor &tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}
