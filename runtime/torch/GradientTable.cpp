//===- GradientTable.cpp - Parameters and gradients as a step looks at them -------------------===//

#include "runtime/torch/GradientTable.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

using namespace updraft::torch_adapter;

/// Of tensors that no subclass or mode has anything to do with, whatever is active now.
static c10::DispatchKeySet usualKeysOn(at::Device device) {
  const c10::impl::ExcludeDispatchKeyGuard withoutModes(c10::python_ks);
  return at::empty({0}, at::TensorOptions(at::kFloat).device(device)).key_set();
}

GradientTable::GradientTable(const std::vector<at::Tensor> &params, const StepDevice &on)
    : usualKeys(usualKeysOn(on.device)), device(on.device), isOnGpu(on.kind == UPD_CUDA) {
  const size_t count = params.size();
  watched.reserve(count);
  entries.reserve(count);
  paramViews.reserve(count);
  paramMemory.reserve(count);
  std::vector<size_t> starts; // of each parameter's dimensions: as it is, then as pairs
  for (const at::Tensor &param : params) {
    const at::Tensor real = param.is_complex() ? realOf(param.detach()) : param;
    paramViews.push_back(viewOf(real, "a parameter", on));
    paramMemory.push_back(param.storage());
    watched.emplace_back(param);
    entries.push_back({param.const_data_ptr(), nullptr, static_cast<int32_t>(param.dim()),
                       param.dtype(), param.is_complex()});
    for (const at::Tensor *tensor : {&param, &real}) {
      if (tensor == &real && !param.is_complex())
        continue;
      starts.push_back(dimensions.size());
      dimensions.insert(dimensions.end(), tensor->sizes().begin(), tensor->sizes().end());
      dimensions.insert(dimensions.end(), tensor->strides().begin(), tensor->strides().end());
    }
  }
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    entries[i].sizes = dimensions.data() + starts[next++];
    upd_tensor &view = paramViews[i];
    view.shape = entries[i].complex ? dimensions.data() + starts[next++] : entries[i].sizes;
    view.strides = view.shape + view.rank;
  }
  gradViews = paramViews;
  for (size_t i = 0; i < count; ++i)
    setAbsent(i);
  gradMemory.resize(count);
}

void GradientTable::setAbsent(size_t param) {
  gradViews[param].data = nullptr;
  gradViews[param].rank = absent;
}

void GradientTable::set(size_t param, const upd_tensor &view, c10::Storage memory) {
  gradViews[param] = view;
  gradMemory[param] = std::move(memory);
  setByHand.push_back(param);
}

inline bool GradientTable::hasLayout(const at::TensorImpl &tensor, const Entry &entry) {
  const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  const auto rank = static_cast<size_t>(entry.rank);
  if (sizes.size() != rank)
    return false;
  for (size_t i = 0; i < rank; ++i)
    if (sizes[i] != entry.sizes[i] || (strides[i] != entry.sizes[rank + i] && sizes[i] != 1))
      return false;
  return true;
}

void GradientTable::prefetchParams(size_t begin, size_t end) const {
  for (size_t i = begin; i < std::min(end, entries.size()); ++i)
    prefetchTensor(watched[i].object());
}

GradientTable::Found GradientTable::take(size_t begin, size_t end, const at::Tensor *given) {
  Found found;
  prefetchParams(begin, begin + tensorsAtOnce);
  for (size_t i = begin; i < end; i += tensorsAtOnce)
    takeBlock(i, std::min(i + tensorsAtOnce, end), given, found);
  return found;
}

/// Each tensor is four or five objects that lie anywhere, one of which points to the next: of a
/// block, all are fetched at once that can be.
void GradientTable::takeBlock(size_t begin, size_t end, const at::Tensor *given, Found &found) {
  const at::Tensor *grads[tensorsAtOnce];
  prefetchParams(end, end + tensorsAtOnce);
  for (size_t i = begin; i < end; ++i) {
    const at::TensorImpl &param = *watched[i].object();
    __builtin_prefetch(param.unsafe_storage().unsafeGetStorageImpl());
    if (const c10::AutogradMetaInterface *meta = param.autograd_meta()) {
      __builtin_prefetch(meta);
      __builtin_prefetch(reinterpret_cast<const char *>(meta) + 48); // where the gradient is
    }
  }
  for (size_t i = begin; i < end; ++i) {
    const at::Tensor &grad = given ? given[i] : watched[i].object()->grad();
    grads[i - begin] = &grad;
    if (grad.defined())
      prefetchTensor(grad.unsafeGetTensorImpl());
  }
  for (size_t i = begin; i < end; ++i)
    if (const at::Tensor &grad = *grads[i - begin]; grad.defined())
      __builtin_prefetch(grad.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl(), 1);

  for (size_t i = begin; i < end; ++i) {
    const Entry &entry = entries[i];
    const at::TensorImpl &param = *watched[i].object();
    found.moved |= !watched[i].isAlive() || dataOf(param) != entry.data ||
                   param.dtype() != entry.dtype || !hasLayout(param, entry);
    const at::Tensor &grad = *grads[i - begin];
    if (!grad.defined()) {
      setAbsent(i);
      continue;
    }
    upd_tensor &view = gradViews[i];
    const at::TensorImpl &tensor = *grad.unsafeGetTensorImpl();
    // GPUs have the same keys.
    if (tensor.key_set() != usualKeys || (isOnGpu && tensor.device() != device) ||
        tensor.dtype() != entry.dtype || entry.complex || !hasLayout(tensor, entry)) {
      view.rank = unusual;
      found.unusual = true;
      continue;
    }
    view.data = const_cast<void *>(dataOf(tensor));
    view.rank = entry.rank;
    gradMemory[i] = tensor.unsafe_storage();
  }
}

void GradientTable::drop(size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(begin + tensorsAtOnce, end); ++i)
    __builtin_prefetch(gradMemory[i].unsafeGetStorageImpl(), 1);
  for (size_t i = begin; i < end; ++i) {
    if (i + tensorsAtOnce < end)
      __builtin_prefetch(gradMemory[i + tensorsAtOnce].unsafeGetStorageImpl(), 1);
    gradMemory[i] = c10::Storage();
  }
}

void GradientTable::forgetUnusual() {
  for (size_t param : setByHand)
    gradViews[param] = paramViews[param];
  setByHand.clear();
}
