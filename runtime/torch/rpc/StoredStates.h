//===- StoredStates.h - A rule's states in the form of a state_dict -----------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_STOREDSTATES_H
#define UPDRAFT_RUNTIME_TORCH_RPC_STOREDSTATES_H

#include "runtime/torch/GroupStepper.h"

#include <map>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// States by name. The step count is `step`. A state in blocks has its codes under its name and the
/// scales in `NAME.scale`.
using StatesByName = std::map<std::string, at::Tensor>;

/// The states of a compiled rule.
class StoredStates {
public:
  StoredStates() = default;
  explicit StoredStates(const upd_rule *rule);

  /// Copies of a parameter's states; empty before its first step.
  StatesByName copy(const GroupStepper &stepper, int64_t param) const;

  /// Sets a parameter's states to copies of these, in the rule's storage types. `number` identifies
  /// the parameter in messages. Throws ValueError if a state is missing, unknown or invalid.
  void load(GroupStepper &stepper, int64_t param, int64_t number, const at::Tensor &tensor,
            const StatesByName &given) const;

  /// Whether the rule has a state, or scales, with this name. Every rule has the step count.
  bool has(const std::string &name) const;

  /// The names of the states of the whole group.
  std::vector<std::string> ofGroup() const;

private:
  struct State {
    std::string name;
    upd_dtype dtype;
    bool isBlocked, isOfGroup;
    upd_tensors tensors; ///< that have the state
    bool isOf(const at::Tensor &param) const;
  };

  std::string rule;
  std::vector<State> states;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_STOREDSTATES_H
