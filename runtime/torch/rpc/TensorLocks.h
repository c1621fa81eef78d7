//===- TensorLocks.h - The locks of tensors, for steps in Python --------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_TENSORLOCKS_H
#define UPDRAFT_RUNTIME_TORCH_RPC_TENSORLOCKS_H

#include "runtime/dist/StorageLocks.h"

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <optional>
#include <vector>

namespace updraft::torch_adapter {

/// The memory that a tensor's elements lie in, from the first to the last. Two tensors may share
/// some whose storages are two, as those do that are made over the memory of others.
runtime::MemoryRange memoryOf(const at::Tensor &tensor);
std::vector<runtime::MemoryRange> memoryOf(const std::vector<at::Tensor> &tensors);

/// The locks of all of some tensors, by which an optimizer that steps in Python and compiled ones
/// wait for each other. Python's lock is given up while one waits here, as in every operator.
class TensorLocks : public torch::CustomClassHolder {
public:
  explicit TensorLocks(const std::vector<at::Tensor> &tensors);
  void lock();
  /// By the thread that has locked.
  void unlock();

private:
  dist::StorageLocks locks;
  std::vector<size_t> all;
  std::optional<dist::StorageLocks::Guard> held;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_TENSORLOCKS_H
