//===- TensorLocks.cpp - The locks of tensors, for steps in Python ----------------------------===//

#include "runtime/torch/rpc/TensorLocks.h"

#include <numeric>

using namespace updraft::torch_adapter;

std::vector<const void *>
updraft::torch_adapter::storagesOf(const std::vector<at::Tensor> &tensors) {
  std::vector<const void *> storages;
  storages.reserve(tensors.size());
  for (const at::Tensor &tensor : tensors)
    storages.push_back(tensor.storage().unsafeGetStorageImpl());
  return storages;
}

TensorLocks::TensorLocks(const std::vector<at::Tensor> &tensors)
    : locks(storagesOf(tensors)), all(tensors.size()) {
  std::iota(all.begin(), all.end(), 0);
}

void TensorLocks::lock() {
  // Not a member yet while others hold it.
  dist::StorageLocks::Guard taken(locks, all);
  held.emplace(std::move(taken));
}

void TensorLocks::unlock() {
  // Given up before another thread sets the member.
  std::optional<dist::StorageLocks::Guard> last = std::exchange(held, std::nullopt);
}
