//===- TensorLocks.cpp - Locks of tensors, for steps in Python --------------------------------===//

#include "runtime/torch/rpc/TensorLocks.h"

#include <numeric>

using namespace updraft::torch_adapter;
namespace dist = updraft::dist;
namespace runtime = updraft::runtime;

runtime::MemoryRange updraft::torch_adapter::memoryOf(const at::Tensor &tensor) {
  // A subclass that intercepts operators has its data elsewhere. The object itself identifies it.
  if (tensor.key_set().has(c10::DispatchKey::Python))
    return {tensor.unsafeGetTensorImpl(), 1};
  if (tensor.numel() == 0)
    return {};
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i)
    last += (tensor.size(i) - 1) * tensor.stride(i);
  return {tensor.data_ptr(), tensor.itemsize() * static_cast<size_t>(last + 1)};
}

std::vector<runtime::MemoryRange>
updraft::torch_adapter::memoryOf(const std::vector<at::Tensor> &tensors) {
  std::vector<runtime::MemoryRange> ranges;
  ranges.reserve(tensors.size());
  for (const at::Tensor &tensor : tensors)
    ranges.push_back(memoryOf(tensor));
  return ranges;
}

TensorLocks::TensorLocks(const std::vector<at::Tensor> &tensors)
    : locks(memoryOf(tensors)), all(tensors.size()) {
  std::iota(all.begin(), all.end(), 0);
}

void TensorLocks::lock() {
  // Not stored in the member yet, because others may hold it.
  dist::StorageLocks::Guard taken(locks, all);
  held.emplace(std::move(taken));
}

void TensorLocks::unlock() {
  // Moved out before another thread sets the member.
  std::optional<dist::StorageLocks::Guard> last = std::exchange(held, std::nullopt);
}
