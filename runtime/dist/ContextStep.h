//===- ContextStep.h - A worker's step from one context -----------------------------*- C++ -*-===//
// Defines the order in which a worker locks, checks, records and writes. It doesn't depend on
// torch, so tests can check it for races without torch.

#ifndef UPDRAFT_RUNTIME_DIST_CONTEXTSTEP_H
#define UPDRAFT_RUNTIME_DIST_CONTEXTSTEP_H

#include "runtime/dist/AppliedContexts.h"
#include "runtime/dist/StorageLocks.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace updraft::dist {

/// The state that an optimizer shares with its replacements.
struct StepProgress {
  std::mutex mutex; ///< guards steps, states and `applied`
  AppliedContexts applied;
};

/// A step of an optimizer's buckets (parameters that are stepped together) from the gradients of
/// one context. Used once.
class ContextStep {
public:
  /// `before` is how many times the context may already have been applied.
  ContextStep(int64_t number, std::shared_ptr<const void> context, int64_t before)
      : number(number), context(std::move(context)), before(before) {}
  virtual ~ContextStep() = default;

  /// The result of `run` if there was nothing to do, instead of a number of parameters.
  static constexpr int64_t alreadyApplied = -1;

  /// Steps all buckets, or none if one refuses. Returns the number of stepped parameters. `places`
  /// are the parameters with gradients, as indices into the ranges of `locks`. Thread-safe.
  int64_t run(StepProgress &progress, const StorageLocks &locks, const std::vector<size_t> &places);

protected:
  // All are called with the optimizer's lock held, and those with a bucket with the memory's locks
  // too.

  /// Throws if it refuses.
  virtual void takeHypers() = 0;
  virtual size_t bucketCount() const = 0;
  /// Doesn't write parameters or states. Throws if it refuses; then the bucket is not prepared.
  virtual void prepare(size_t bucket) = 0;
  /// Never fails.
  virtual void apply(size_t bucket) = 0;
  /// Called instead of `apply`. Doesn't throw.
  virtual void abandon(size_t bucket) = 0;

private:
  /// Its destructor abandons the buckets in [begin, end), which are prepared but not applied.
  struct Prepared {
    ContextStep &step;
    size_t begin = 0, end = 0;
    ~Prepared() {
      for (; begin < end; ++begin)
        step.abandon(begin);
    }
  };

  int64_t number;
  std::shared_ptr<const void> context;
  int64_t before;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_CONTEXTSTEP_H
