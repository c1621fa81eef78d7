//===- TensorLocks.h - Locks of tensors, for steps in Python ------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_TENSORLOCKS_H
#define UPDRAFT_RUNTIME_TORCH_RPC_TENSORLOCKS_H

#include "runtime/dist/StorageLocks.h"

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <optional>
#include <vector>

namespace updraft::torch_adapter {

/// The memory from a tensor's first element to its last. Tensors with different storages may share
/// memory, if a storage was made over the memory of another.
runtime::MemoryRange memoryOf(const at::Tensor &tensor);
std::vector<runtime::MemoryRange> memoryOf(const std::vector<at::Tensor> &tensors);

/// The locks of several tensors, with which optimizers that step in Python and compiled ones wait
/// for each other. Releases the GIL while waiting, like every operator.
class TensorLocks : public ::torch::CustomClassHolder {
public:
  explicit TensorLocks(const std::vector<at::Tensor> &tensors);
  void lock();
  /// Must be called by the thread that has locked.
  void unlock();

private:
  dist::StorageLocks locks;
  std::vector<size_t> all;
  std::optional<dist::StorageLocks::Guard> held;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_TENSORLOCKS_H
