//===- ParameterTable.cpp - The parameters of a step ------------------------------------------===//

#include "runtime/torch/ParameterTable.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

using namespace updraft::torch_adapter;

/// Returns the dispatch keys of plain tensors: without a subclass, and regardless of active modes.
static c10::DispatchKeySet usualKeysOn(at::Device device) {
  const c10::impl::ExcludeDispatchKeyGuard withoutModes(c10::python_ks);
  return at::empty({0}, at::TensorOptions(at::kFloat).device(device)).key_set();
}

ParameterTable::ParameterTable(const std::vector<at::Tensor> &params, const StepDevice &on,
                               at::ScalarType countType)
    : steps(params.size()), stepCounts(params.size(), on, countType), shownStates(params.size()),
      addresses(params.size()), gradMemory(params.size()), origins(params.size()), on(on),
      usualKeys(usualKeysOn(on.device)) {
  watched.reserve(params.size());
  entries.reserve(params.size());
  memory.reserve(params.size());
  std::vector<size_t> starts;
  for (const at::Tensor &param : params) {
    const at::Tensor real = param.is_complex() ? realOf(param.detach()) : param;
    type = viewOf(real, "a parameter", on).dtype;
    memory.push_back(param.storage());
    watched.emplace_back(param);
    entries.push_back({dataOf(*param.unsafeGetTensorImpl()), nullptr,
                       static_cast<int32_t>(real.dim()), param.dtype(), param.is_complex()});
    starts.push_back(dimensions.size());
    dimensions.insert(dimensions.end(), real.sizes().begin(), real.sizes().end());
    dimensions.insert(dimensions.end(), real.strides().begin(), real.strides().end());
  }
  for (size_t i = 0; i < params.size(); ++i)
    entries[i].sizes = dimensions.data() + starts[i];
}

std::vector<upd_tensor> ParameterTable::views() const {
  std::vector<upd_tensor> result;
  result.reserve(entries.size());
  for (const Entry &entry : entries)
    result.push_back({const_cast<void *>(entry.data), entry.sizes, entry.sizes + entry.rank,
                      entry.rank, type, on.kind, on.index(), /*read_only=*/0});
  return result;
}

inline bool ParameterTable::hasLayout(const at::TensorImpl &tensor, const Entry &entry) {
  const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  const auto rank = static_cast<size_t>(entry.rank - entry.complex);
  const int64_t reals = entry.complex ? 2 : 1;
  if (sizes.size() != rank)
    return false;
  const int64_t *expected = entry.sizes + entry.rank;
  for (size_t i = 0; i < rank; ++i)
    if (sizes[i] != entry.sizes[i] || (strides[i] * reals != expected[i] && sizes[i] != 1))
      return false;
  return true;
}

inline bool ParameterTable::isUsual(const at::TensorImpl &grad, const Entry &entry) const {
  // All GPUs have the same keys, so the devices are compared too.
  return grad.key_set() == usualKeys && (on.kind != UPD_CUDA || grad.device() == on.device) &&
         grad.dtype() == entry.dtype && !entry.complex && hasLayout(grad, entry);
}

void ParameterTable::prefetchParams(size_t begin, size_t end) const {
  for (size_t i = begin; i < std::min(end, entries.size()); ++i)
    prefetchTensor(watched[i].object());
}

ParameterTable::Found ParameterTable::look(size_t begin, size_t end, const at::Tensor *given) {
  Found found;
  prefetchParams(begin, begin + tensorsAtOnce);
  for (size_t i = begin; i < end; i += tensorsAtOnce) {
    const Found block = lookAtBlock(i, std::min(i + tensorsAtOnce, end), given);
    found.moved |= block.moved;
    found.unusual |= block.unusual;
  }
  // A GPU reads its step counts at every step.
  if (on.isCpu()) {
    const StepCountTensors::Found counts = stepCounts.look(begin, end, steps);
    found.moved |= counts.moved;
    found.counted = counts.changed;
  }
  found.moved |= shownStates.haveMoved(begin, end);
  return found;
}

/// Each tensor is a chain of four or five objects in different places. Prefetches them for a whole
/// block at a time, so that the cache misses overlap.
ParameterTable::Found ParameterTable::lookAtBlock(size_t begin, size_t end,
                                                  const at::Tensor *given) {
  Found found;
  const at::Tensor *grads[tensorsAtOnce];
  prefetchParams(end, end + tensorsAtOnce);
  for (size_t i = begin; i < end; ++i) {
    const at::TensorImpl &param = *watched[i].object();
    __builtin_prefetch(param.unsafe_storage().unsafeGetStorageImpl());
    if (const c10::AutogradMetaInterface *meta = param.autograd_meta()) {
      __builtin_prefetch(meta);
      __builtin_prefetch(reinterpret_cast<const char *>(meta) + 48); // the pointer to the gradient
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
    addresses[i] = nullptr;
    if (!grad.defined())
      continue;
    const at::TensorImpl &tensor = *grad.unsafeGetTensorImpl();
    if (isUsual(tensor, entry))
      addresses[i] = tensor.numel() == 0 ? &noElements : dataOf(tensor);
    if (addresses[i]) {
      gradMemory[i] = tensor.unsafe_storage();
    } else {
      addresses[i] = &unusual;
      found.unusual = true;
    }
  }
  return found;
}

void ParameterTable::setGradient(size_t param, const upd_tensor &grad, c10::Storage storage) {
  const bool isEmpty = std::find(grad.shape, grad.shape + grad.rank, 0) != grad.shape + grad.rank;
  addresses[param] = isEmpty ? &noElements : grad.data;
  gradMemory[param] = std::move(storage);
}

void ParameterTable::dropGradients() {
  for (c10::Storage &storage : gradMemory)
    if (storage)
      storage = c10::Storage();
}

void ParameterTable::stepped(std::span<const uint32_t> params, bool countVersions) {
  if (countVersions) {
    readVersions(watched, params);
    shownStates.readVersions(params);
    if (on.isCpu())
      stepCounts.readVersions(params);
  }
  for (uint32_t i : params)
    __builtin_prefetch(gradMemory[i].unsafeGetStorageImpl(), 1);
  for (uint32_t i : params) {
    if (countVersions) {
      bumpVersion(watched[i]);
      shownStates.bumpVersions(i);
    }
    if (on.isCpu())
      stepCounts.write(i, ++steps[i]);
    if (origins[i] == StateOrigin::None) {
      origins[i] = StateOrigin::New;
      anyFresh.store(true, std::memory_order_relaxed);
    }
    gradMemory[i] = c10::Storage();
  }
}

bool ParameterTable::takeFresh(std::vector<int64_t> &fresh) {
  if (!anyFresh.exchange(false))
    return false;
  for (size_t i = 0; i < origins.size(); ++i)
    if (origins[i] == StateOrigin::New) {
      origins[i] = StateOrigin::Known;
      fresh.push_back(static_cast<int64_t>(i));
    }
  return true;
}
