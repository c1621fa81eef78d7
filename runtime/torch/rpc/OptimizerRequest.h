//===- OptimizerRequest.h - What a client asks a worker to make ---------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_OPTIMIZERREQUEST_H
#define UPDRAFT_RUNTIME_TORCH_RPC_OPTIMIZERREQUEST_H

#include "runtime/torch/rpc/CompiledRule.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// The parameters of one group of the client that this worker has.
struct GroupRequest {
  std::vector<int64_t> params;     ///< which of the worker's parameters, in its list
  std::vector<int64_t> numbers;    ///< their numbers among all of the optimizer, on all workers
  std::vector<std::string> owners; ///< the workers that have parameters of the group
  std::string source;              ///< of the rule, for the choices of this group
  /// What the rule may be compiled for, by the storage type of the parameters, as `setting_choices`
  /// of python/updraft/optim/correspondence.py says it.
  std::map<upd_dtype, std::vector<Settings>> choices;
  /// The hyperparameters in the rule's order, by the storage type of the parameters.
  std::map<upd_dtype, std::vector<std::pair<std::string, double>>> hypers;
  std::string sparseRefusal, denseRefusal;
  bool sparseAsDense;
  int64_t seed;
};

/// As python/updraft/distributed/optim/request.py writes it, in JSON.
struct OptimizerRequest {
  RuleChoices rule;
  std::string complexRefusal; ///< what is said to complex parameters; empty: they are taken
  std::vector<GroupRequest> groups;
  std::optional<int64_t> replaces; ///< the number of an optimizer whose place this one takes
  bool countVersions;              ///< parameters that are stepped are known to autograd as changed

  /// What messages call the worker's parameters, by their places in its list.
  std::vector<std::string> paramNames() const;

  /// Throws where the text is not what it should be.
  static OptimizerRequest parse(const std::string &text);
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_OPTIMIZERREQUEST_H
