//===- ContextStep.h - A step of what a context has on a worker ---------------------*- C++ -*-===//
// In which order a worker locks, refuses, remembers and writes. What is stepped is left open: the
// order is the same, and can be checked for races, without torch.

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

/// What an optimizer shares with those that take its place.
struct StepProgress {
  std::mutex mutex; ///< of steps, states and `applied`
  AppliedContexts applied;
};

/// A step of an optimizer's buckets, parameters that are stepped together, from the gradients of
/// one context. Made for one run.
class ContextStep {
public:
  /// `before`: how often the context may have been applied already.
  ContextStep(int64_t number, std::shared_ptr<const void> context, int64_t before)
      : number(number), context(std::move(context)), before(before) {}
  virtual ~ContextStep() = default;

  /// What `run` returns instead of a number of parameters.
  static constexpr int64_t alreadyApplied = -1;

  /// Steps all buckets or, where something is refused, none; returns how many parameters were
  /// stepped. `places` are those that have gradients, among the ranges of `locks`. Any thread.
  int64_t run(StepProgress &progress, const StorageLocks &locks, const std::vector<size_t> &places);

protected:
  // All are called with the optimizer's lock, and those with a bucket with the locks of memory.

  /// Throws what it refuses.
  virtual void takeHypers() = 0;
  virtual size_t bucketCount() const = 0;
  /// Writes no parameter and no state. Throws what it refuses; then the bucket is not prepared.
  virtual void prepare(size_t bucket) = 0;
  /// Refuses nothing.
  virtual void apply(size_t bucket) = 0;
  /// In place of `apply`. Throws nothing.
  virtual void abandon(size_t bucket) = 0;

private:
  /// Abandons the buckets of [begin, end) at its end: those that are prepared and not applied.
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
