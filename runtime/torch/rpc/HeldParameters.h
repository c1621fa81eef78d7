//===- HeldParameters.h - Parameters held for clients -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_HELDPARAMETERS_H
#define UPDRAFT_RUNTIME_TORCH_RPC_HELDPARAMETERS_H

#include <ATen/core/Tensor.h>

#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace updraft::torch_adapter {

/// Leaves of autograd, by the names that clients have chosen. Thread-safe.
class HeldParameters {
public:
  /// The process's instance.
  static HeldParameters &process();

  /// Holds a copy of the values. If another client has already created the parameter, keeps its
  /// values and returns false. Throws ValueError if its shape or type differs.
  bool hold(const std::string &name, const at::Tensor &value);
  /// Throws IndexError for an unknown name.
  at::Tensor get(const std::string &name) const;
  /// Overwrites the values, never during a step.
  void assign(const std::string &name, const at::Tensor &value) const;
  /// Removes it; clients' references stay valid. Returns whether it existed.
  bool drop(const std::string &name);
  std::vector<std::string> names() const;

private:
  mutable std::shared_mutex mutex;
  std::unordered_map<std::string, at::Tensor> byName;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_HELDPARAMETERS_H
