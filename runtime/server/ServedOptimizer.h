//===- ServedOptimizer.h - An optimizer that clients step ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H
#define UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H

#include "runtime/dist/StorageLocks.h"
#include "runtime/server/GradientContext.h"
#include "runtime/server/Parameters.h"
#include "updraft-c/optimizer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace updraft::server {

using RulePointer = std::shared_ptr<upd_rule>;

/// Loads the code of a package for this machine. Throws InvalidArgument, or FailedPrecondition if
/// the machine can't run it.
RulePointer loadRule(const std::string &package);

/// A rule over groups of parameters. Thread-safe: steps that share a parameter wait for each other.
class ServedOptimizer {
public:
  /// Throws InvalidArgument if the rule doesn't fit the parameters.
  ServedOptimizer(worker::v1::CreateOptimizerRequest request, std::string package, RulePointer rule,
                  const ParameterStore &store);

  const worker::v1::CreateOptimizerRequest &request() const { return created; }
  const std::string &package() const { return code; }
  /// All groups' parameters, in order.
  const Parameters &parameters() const { return params; }
  /// The position of a parameter. Throws NotFound.
  size_t positionOf(const std::string &parameter) const;
  upd_dtype gradType() const;

  /// Checks the type and shape of a gradient, and the indices of rows. Throws InvalidArgument.
  void check(const Gradient &gradient) const;

  /// Steps the parameters that have gradients. Returns their number. `record` is called when the
  /// step can't be refused any more, before it changes anything, with that number. On a refusal,
  /// also by `record`, nothing is changed.
  int64_t step(const std::map<size_t, SummedGradient> &gradients,
               const std::function<void(int64_t)> &record);
  /// Sets hyperparameters of a group and calls `record`, or sets none. Throws InvalidArgument,
  /// NotFound, or what `record` throws.
  void setHypers(const worker::v1::SetHyperparametersRequest &request,
                 const std::function<void()> &record);
  /// Calls `record`. From then on, steps and changes of hyperparameters throw NotFound.
  void close(const std::function<void()> &record);

  /// The content of a file of states (docs/runtime.md, "Files"). Called when nothing changes.
  std::string saveStates() const;
  void loadStates(const std::string &bytes, const std::string &name);

private:
  class Step;

  void requireOpen() const;

  const worker::v1::CreateOptimizerRequest created;
  const std::string code;
  RulePointer rule;
  Parameters params;
  dist::StorageLocks locks;
  mutable std::mutex mutex; ///< guards what follows
  std::unique_ptr<upd_optimizer, void (*)(upd_optimizer *)> optimizer;
  bool isClosed = false;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H
