//===- StoredStates.h - The states of a rule as a state_dict has them ---------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_STOREDSTATES_H
#define UPDRAFT_RUNTIME_TORCH_RPC_STOREDSTATES_H

#include "runtime/torch/GroupStepper.h"

#include <map>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// States by name. The step count is `step`; a state in blocks has its codes under its name and the
/// scales in `NAME.scale`.
using StatesByName = std::map<std::string, at::Tensor>;

/// The states of a compiled rule.
class StoredStates {
public:
  StoredStates() = default;
  explicit StoredStates(const upd_rule *rule);

  /// Copies of the states that a parameter has; none before its first step.
  StatesByName copy(const GroupStepper &stepper, int64_t param) const;

  /// Gives a parameter copies of these states, stored as the rule has them. `number` names the
  /// parameter in messages. Throws ValueError where a state is missing, not of the rule, or not
  /// what the rule takes.
  void load(GroupStepper &stepper, int64_t param, int64_t number, const at::Tensor &tensor,
            const StatesByName &given) const;

  /// Whether the rule has a state, or scales, of this name; of any rule, the step count.
  bool has(const std::string &name) const;

  /// The names of the states that are one for a whole group.
  std::vector<std::string> ofGroup() const;

private:
  struct State {
    std::string name;
    upd_dtype dtype;
    bool isBlocked = false, isOfGroup = false;
    std::string kind; ///< of parameters that have it: "matrix", "vector", or all
    bool isOf(const at::Tensor &param) const;
  };

  std::string rule;
  std::vector<State> states;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_STOREDSTATES_H
