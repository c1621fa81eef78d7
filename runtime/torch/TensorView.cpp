//===- TensorView.cpp - Tensors of torch as the C API sees them, and back ---------------------===//

#include "runtime/torch/TensorView.h"

#include "runtime/base/EmulatorDevice.h"
#include "runtime/torch/TensorMemory.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_as_real.h>

using namespace updraft::torch_adapter;

namespace {
struct TypePair {
  upd_dtype ours;
  at::ScalarType theirs;
};
// Types that torch doesn't have, the codes of blocks, are bytes in torch.
constexpr TypePair types[] = {
    {UPD_F32, at::kFloat},         {UPD_F64, at::kDouble}, {UPD_BF16, at::kBFloat16},
    {UPD_F16, at::kHalf},          {UPD_I8, at::kChar},    {UPD_Q8_LINEAR, at::kByte},
    {UPD_Q8_COMPANDED, at::kByte},
};
} // namespace

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
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.device() == on.device, what, " is on ", tensor.device(),
                              "; the step is compiled for ",
                              on.isCpu() ? "the CPU" : on.device.str());
  upd_tensor view{};
  for (const TypePair &type : types)
    if (type.theirs == tensor.scalar_type()) {
      view.dtype = type.ours;
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
  TORCH_CHECK_NOT_IMPLEMENTED(false, what, " has the dtype ", tensor.scalar_type(),
                              "; float32, float64, bfloat16 and float16 can be");
}

at::ScalarType updraft::torch_adapter::scalarTypeOf(upd_dtype dtype) {
  for (const TypePair &type : types)
    if (type.ours == dtype)
      return type.theirs;
  return at::kFloat;
}

at::Tensor updraft::torch_adapter::tensorOver(const upd_tensor &view,
                                              const std::function<void(void *)> &release,
                                              const StepDevice &on) {
  const auto options = at::TensorOptions(scalarTypeOf(view.dtype)).device(on.device);
  auto maker = at::for_blob(view.data, at::IntArrayRef(view.shape, view.rank));
  if (view.strides)
    maker.strides(at::IntArrayRef(view.strides, view.rank));
  // Without a device, torch would ask CUDA for the device of the memory.
  return maker.deleter(release).options(options).target_device(on.device).make_tensor();
}

at::Tensor updraft::torch_adapter::realOf(const at::Tensor &tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}
