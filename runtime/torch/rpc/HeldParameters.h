//===- HeldParameters.h - Parameters that a worker holds for its clients ------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_HELDPARAMETERS_H
#define UPDRAFT_RUNTIME_TORCH_RPC_HELDPARAMETERS_H

#include <ATen/core/Tensor.h>

#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace updraft::torch_adapter {

/// Leaves of autograd by the names that clients have chosen. Any thread.
class HeldParameters {
public:
  /// Those of this process.
  static HeldParameters &process();

  /// Holds a copy of the values. Several clients may ask for the same one: what the first has given
  /// stays, and false is returned. Throws ValueError if it has another shape or type there.
  bool hold(const std::string &name, const at::Tensor &value);
  /// Throws IndexError for a name that there is not.
  at::Tensor get(const std::string &name) const;
  /// Overwrites the values, while no step does.
  void assign(const std::string &name, const at::Tensor &value) const;
  /// Forgets it; references of clients stay good. Returns whether there was one.
  bool drop(const std::string &name);
  std::vector<std::string> names() const;

private:
  mutable std::shared_mutex mutex;
  std::unordered_map<std::string, at::Tensor> byName;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_HELDPARAMETERS_H
