//===- ServedOptimizer.h - An optimizer that clients step ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H
#define UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H

#include "runtime/base/Safetensors.h"
#include "runtime/dist/LockedStep.h"
#include "runtime/server/GradientContext.h"
#include "runtime/server/Parameters.h"
#include "runtime/server/Staleness.h"
#include "updraft-c/optimizer.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace updraft::server {

using RulePointer = std::shared_ptr<upd_rule>;

/// Loads the code of a package for this machine. Throws InvalidArgument, or FailedPrecondition if
/// the machine can't run it.
RulePointer loadRule(const std::string &package);

class ServedStep;

/// The content of a file of states (docs/runtime.md, "Files").
struct StatesFile {
  std::string bytes;
  Budget::Reservation reserved;
};

/// The newest value of a probe of a parameter.
struct ProbeValue {
  std::string optimizer, parameter, probe;
  double value;
  /// If set, the value is the number of elements below this: one of a histogram's.
  std::optional<double> below = {};
};

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

  /// Prepares a step of the parameters that have gradients, and holds their locks and the
  /// optimizer's. Nothing if there are no gradients. Throws InvalidArgument if the step is refused,
  /// NotFound once the optimizer is closed, or Unavailable if a lock isn't free within `patience`.
  /// The gradients must outlive the result. `staleness` limits their age; throws Stale.
  std::unique_ptr<ServedStep> prepare(const std::map<size_t, SummedGradient> &gradients,
                                      dist::Patience patience, Budget &budget,
                                      const worker::v1::Staleness &staleness = {});
  /// Whether other requests can wait for a step with so many bytes of gradients: they are few, and
  /// the latest steps took little time.
  bool isQuick(size_t gradientBytes) const;
  /// Called with the time of a step, from its request to its answer.
  void took(std::chrono::nanoseconds time);
  /// Sets hyperparameters of a group and records that, or sets none. Returns the number of the
  /// record. Throws InvalidArgument, NotFound or Unavailable.
  uint64_t setHypers(const worker::v1::SetHyperparametersRequest &request, Recorder &recorder,
                     dist::Patience patience);
  /// The hyperparameters of each group. Throws Unavailable.
  std::vector<std::map<std::string, double>> hypers(dist::Patience patience);
  /// Adds the newest value of each probe of each parameter that was stepped. Waits for no step.
  void addProbes(std::vector<ProbeValue> &to) const;
  /// Makes a file of states. Throws Unavailable or ResourceExhausted.
  StatesFile states(dist::Patience patience, Budget &budget);
  /// Replaces states, step counts and hyperparameters by those of a file, and records that, or
  /// changes nothing. Returns the number of the record. Throws InvalidArgument, NotFound or
  /// Unavailable.
  uint64_t setStates(const std::string &bytes, Recorder &recorder, dist::Patience patience);
  /// Records that the optimizer is deleted. From then on, steps and changes of hyperparameters
  /// throw NotFound. Returns the number of the record. Throws Unavailable.
  uint64_t close(Recorder &recorder, dist::Patience patience);

  /// Whether `close` was called. Called when nothing changes.
  bool closed() const { return isClosed; }
  // The content of a file of states. Called when nothing changes; steps may be prepared meanwhile.
  std::string saveStates() const;
  void loadStates(const std::string &bytes, bool needsFormats = true);
  void loadStates(runtime::SafetensorsFile file, bool needsFormats = true);

private:
  friend class ServedStep;

  void requireOpen() const;

  const worker::v1::CreateOptimizerRequest created;
  const std::string code;
  RulePointer rule;
  Parameters params;
  std::unordered_map<std::string, size_t> positions; ///< in `params`
  dist::StorageLocks locks;
  dist::Lock lock; ///< guards what follows; states also change only within the recorder's gate
  /// Held while a step is prepared or states are read: preparing rearranges the optimizer's counts
  /// and lists, and a snapshot reads states without the lock. Taken after all other locks.
  mutable std::mutex preparing;
  std::unique_ptr<upd_optimizer, void (*)(upd_optimizer *)> optimizer;
  bool isClosed = false;
  /// The longest time of the latest steps, in nanoseconds. It falls with each shorter step.
  std::atomic<int64_t> longest = std::numeric_limits<int64_t>::max();
  mutable std::mutex readingProbes; ///< guards what follows
  mutable uint64_t probeCursor = 0;
  mutable std::map<uint32_t, std::vector<double>> newestProbes; ///< by position in `params`
};

/// A step that is prepared and holds its locks. Its destructor abandons it, unless it was applied.
/// Any thread may use it.
class ServedStep : private dist::LockedStep {
public:
  ~ServedStep() override { cancel(); }

  /// Writes parameters and states. Never fails. Called once, within a ChangeGate::Change.
  void apply() { finish(); }
  /// The gradients that it applies.
  const std::map<size_t, SummedGradient> &gradients() const { return limited->byParam(); }

private:
  friend class ServedOptimizer;
  ServedStep(ServedOptimizer &optimizer, const std::map<size_t, SummedGradient> &gradients,
             Budget &budget, const worker::v1::Staleness &staleness);

  bool isRepeated() const override { return false; } // the table of clients knows
  void takeHypers() override { optimizer.requireOpen(); }
  size_t bucketCount() const override { return 1; }
  void prepare(size_t bucket) override;
  void record() override {} // the caller of `apply` did
  void apply(size_t bucket) override;
  void abandon(size_t) override {} // the next preparation discards it

  ServedOptimizer &optimizer;
  const std::map<size_t, SummedGradient> &given;
  Budget &budget;
  const worker::v1::Staleness &staleness; ///< used by `begin` alone
  std::optional<LimitedGradients> limited;
  std::vector<size_t> places;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_SERVEDOPTIMIZER_H
