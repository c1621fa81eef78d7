//===- ContextStep.h - A worker's step from one context -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_CONTEXTSTEP_H
#define UPDRAFT_RUNTIME_DIST_CONTEXTSTEP_H

#include "runtime/dist/AppliedContexts.h"
#include "runtime/dist/LockedStep.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace updraft::dist {

/// The state that an optimizer shares with its replacements.
struct StepProgress {
  Lock lock; ///< guards steps, states and `applied`
  AppliedContexts applied;
};

/// A step from the gradients of one context, which counts how often the context was applied.
class ContextStep : public LockedStep {
public:
  /// `before` is how many times the context may already have been applied.
  ContextStep(StepProgress &progress, int64_t number, std::shared_ptr<const void> context,
              int64_t before)
      : progress(progress), number(number), context(std::move(context)), before(before) {}

  int64_t run(const StorageLocks &locks, const std::vector<size_t> &places) {
    return LockedStep::run(progress.lock, locks, places);
  }

private:
  bool isRepeated() const override { return progress.applied.count(number, context) > before; }
  void record() override { progress.applied.set(number, context, before + 1); }

  StepProgress &progress;
  int64_t number;
  std::shared_ptr<const void> context;
  int64_t before;
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_CONTEXTSTEP_H
