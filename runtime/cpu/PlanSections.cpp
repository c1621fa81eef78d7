//===- PlanSections.cpp - Stages of a plan, window by window ----------------------------------===//
// A section is what a tensor goes through without need of what others give: the stages up to a
// prologue that waits for a reduction over the group.

#include "runtime/base/PoolParts.h"
#include "runtime/cpu/PlanRun.h"

using namespace updraft::runtime;

void PlanRun::run(const Step &step) {
  while (nextStage < plan.sequence.size()) {
    if (plan.sequence[nextStage].isPass) {
      runSection(step, sectionEnd());
      continue;
    }
    if (groupReductionsDone != groupReductionsCombined)
      return;
    prologueRows.evaluate(nextStage++, 0, prologueRows.size(), step.hypers, step.pool);
  }
  if (step.fill != Fill::Nothing && !elementsFilled) {
    const Walk walk{step, {0, list.size()}, false, nextStage, false};
    runSweep({walk, domains[0], 0, 0, true}, domains[0]);
  }
}

/// Of the section that begins with the next stage. Rows that tensors share end it too: they are
/// evaluated for all.
size_t PlanRun::sectionEnd() const {
  bool waits = !prologueRows.isPerTensor();
  size_t stage = nextStage;
  for (; stage < plan.sequence.size(); ++stage) {
    const auto [isPass, index, byTensor] = plan.sequence[stage];
    if (!isPass && waits)
      break;
    if (isPass)
      for (const ScalarReduction &reduction : scalarReductions[index])
        waits |= reduction.ofGroup;
  }
  return stage;
}

/// Whether the stages up to `end` run over elements more than once. Flat passes that follow each
/// other do so together.
bool PlanRun::readsAgain(size_t end) const {
  size_t sweeps = 0;
  bool followsFlat = false;
  for (size_t stage = nextStage; stage < end; ++stage) {
    const auto [isPass, index, byTensor] = plan.sequence[stage];
    const bool isFlat =
        isPass && PassDomain::kindOf(plan.passes[index]) == PassDomain::Kind::Elements;
    sweeps += isPass && plan.passes[index].over == Extent::Element && !(isFlat && followsFlat);
    followsFlat = isFlat;
  }
  return sweeps > 1;
}

/// All tensors through the stages up to `end`. Window by window if elements are read more than
/// once, for then they are in the cache.
void PlanRun::runSection(const Step &step, size_t end) {
  if (readsAgain(end))
    runWindows(step, end);
  else
    runStages({step, {0, list.size()}, false, nextStage, elementsFilled}, end);
  for (; nextStage < end; ++nextStage) {
    const auto [isPass, index, byTensor] = plan.sequence[nextStage];
    if (!isPass)
      continue;
    elementsFilled |= plan.passes[index].over == Extent::Element;
    for (const ScalarReduction &reduction : scalarReductions[index])
      groupReductionsDone += reduction.ofGroup;
  }
}

void PlanRun::runWindows(const Step &step, size_t end) {
  windows.assign(PassDomain::threadsFor(windows.cost(), step.pool));
  for (const TensorWindows::Window &window : windows.shared())
    runStages({step, window, false, nextStage, elementsFilled}, end);
  if (!windows.hasOwn())
    return;
  forParts(step.pool, windows.threads(), 1, [&](size_t beginThread, size_t endThread) {
    const Step alone{step.hypers, step.initial, callingThread(), step.fill};
    for (size_t thread = beginThread; thread < endThread; ++thread)
      for (const TensorWindows::Window &window : windows.own(thread))
        runStages({alone, window, true, nextStage, elementsFilled}, end);
  });
}

void PlanRun::runStages(Walk walk, size_t end) {
  while (walk.stage < end) {
    if (plan.sequence[walk.stage].isPass)
      runPasses(walk);
    else
      prologueRows.evaluate(walk.stage++, walk.tensors.begin, walk.tensors.end, walk.step.hypers,
                            walk.step.pool);
  }
}
