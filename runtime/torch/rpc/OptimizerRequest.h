//===- OptimizerRequest.h - A client's request for an optimizer ---------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_OPTIMIZERREQUEST_H
#define UPDRAFT_RUNTIME_TORCH_RPC_OPTIMIZERREQUEST_H

#include "runtime/torch/rpc/CompiledRule.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// The parameters of one of the client's groups that this worker has.
struct GroupRequest {
  std::vector<int64_t> params;     ///< positions in the worker's list of parameters
  std::vector<int64_t> numbers;    ///< their numbers among all of the optimizer, on all workers
  std::vector<std::string> owners; ///< the workers that have parameters of the group
  std::string source;              ///< the rule's text, for the choices of this group
  /// Candidates for the settings to compile the rule with, by the storage type of the parameters;
  /// see `setting_choices` of python/updraft/optim/correspondence.py.
  std::map<upd_dtype, std::vector<Settings>> choices;
  /// The hyperparameters in the rule's order, by the storage type of the parameters.
  std::map<upd_dtype, std::vector<std::pair<std::string, double>>> hypers;
  std::string sparseRefusal, denseRefusal;
  bool sparseAsDense;
  int64_t seed;
};

/// The JSON that python/updraft/distributed/optim/request.py writes.
struct OptimizerRequest {
  RuleChoices rule;
  std::string complexRefusal; ///< the error for complex parameters; empty: allowed
  std::vector<GroupRequest> groups;
  std::optional<int64_t> replaces; ///< the number of the optimizer that it replaces
  bool countVersions;              ///< autograd is notified of steps

  /// The names of the worker's parameters in messages, by position in its list.
  std::vector<std::string> paramNames() const;

  /// Throws if the text is invalid.
  static OptimizerRequest parse(const std::string &text);
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_OPTIMIZERREQUEST_H
