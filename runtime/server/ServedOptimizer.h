//===- ServedOptimizer.h - An optimizer that clients step ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H
#define UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H

#include "runtime/dist/LockedStep.h"
#include "runtime/server/GradientContext.h"
#include "runtime/server/Parameters.h"
#include "updraft-c/optimizer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace updraft::server {

using RulePointer = std::shared_ptr<upd_rule>;
using Hypers = std::vector<std::pair<std::string, double>>;

/// Parameters that share hyperparameters.
struct GroupRequest {
  std::vector<std::string> parameters;
  Hypers hypers;       ///< the others have the rule's defaults
  bool isPart = false; ///< other workers have other parameters of the group
  bool operator==(const GroupRequest &) const = default;
};

/// A rule over groups of parameters. Thread-safe: steps that share a parameter wait for each other.
class ServedOptimizer {
public:
  /// Throws InvalidArgument if the rule doesn't fit the parameters.
  ServedOptimizer(RulePointer rule, const std::vector<GroupRequest> &groups, uint64_t seed,
                  const ParameterStore &store);

  /// All groups' parameters, in order.
  const Parameters &parameters() const { return params; }
  /// The position of a parameter. Throws NotFound.
  size_t positionOf(const std::string &parameter) const;
  upd_dtype gradType() const;

  /// Checks the type and shape of a gradient, and the indices of rows. Throws InvalidArgument.
  void check(const Gradient &gradient) const;

  /// Steps the parameters that have gradients. Returns their number. On a refusal nothing is
  /// changed.
  int64_t step(GradientContext &context, Budget &budget);
  /// Sets hyperparameters of a group, or none. Throws InvalidArgument or NotFound.
  void setHypers(size_t group, const Hypers &hypers);

private:
  class Step;

  RulePointer rule;
  Parameters params;
  dist::StorageLocks locks;
  std::mutex mutex; ///< guards `optimizer`
  std::unique_ptr<upd_optimizer, void (*)(upd_optimizer *)> optimizer;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H
