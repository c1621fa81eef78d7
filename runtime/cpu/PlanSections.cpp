//===- PlanSections.cpp - Stages of a plan, window by window ----------------------------------===//
// A section is a sequence of stages that a tensor goes through independently of other tensors. It
// ends at a prologue that needs a reduction over the group.

#include "runtime/base/PoolParts.h"
#include "runtime/cpu/PlanRun.h"

using namespace updraft::runtime;

void PlanRun::run(const Step &step) {
  while (nextStage < plan.sequence.size()) {
    if (plan.sequence[nextStage].isPrologue()) {
      if (groupReductionsDone != groupReductionsCombined)
        return;
      prologueRows.evaluate(nextStage++, 0, prologueRows.size(), step.hypers, step.pool);
      continue;
    }
    const size_t end = sectionEndFrom(nextStage);
    // If elements are read more than once, runs window by window, so that they are in the cache.
    // Windows with products or calls use the same memory for their matrices.
    if (plan.hasWholeMatrices() || readsAgain(end))
      runWindows(step, end);
    else
      runStages({step, {0, list.size()}, false, nextStage, elementsFilled, nullptr}, end);
    finishSection(end);
  }
}

void PlanRun::complete(const Step &step) {
  if (step.fill != Fill::Nothing && !elementsFilled)
    runTraversal({step, {0, list.size()}, false, domains[0], 0, 0, true, false});
  if (plan.sequence.empty() || !plan.sequence.back().isSweep())
    observe(step, 0, list.size());
}

/// Returns the end of the section that begins with `stage`. If tensors share rows, every
/// prologue ends a section, because it is evaluated for all of them.
size_t PlanRun::sectionEndFrom(size_t stage) const {
  bool waits = !prologueRows.isPerTensor();
  for (; stage < plan.sequence.size(); ++stage) {
    const StageInterface &next = plan.sequence[stage];
    if (next.isPrologue() && waits)
      break;
    if (next.isSweep())
      for (const ScalarReduction &reduction : scalarReductions[next.index])
        waits |= reduction.ofGroup;
  }
  return stage;
}

/// Whether the stages up to `end` run over elements more than once. Consecutive flat sweeps over
/// elements run together, so they count as one.
bool PlanRun::readsAgain(size_t end) const {
  size_t traversals = 0;
  bool followsFlat = false;
  for (size_t stage = nextStage; stage < end; ++stage) {
    const StageInterface &next = plan.sequence[stage];
    const bool isFlat = next.isSweep() && SweepDomain::keyOf(plan.sweeps[next.index]).kind ==
                                              SweepDomain::Kind::Elements;
    traversals += next.isSweep() && plan.sweeps[next.index].over == Extent::Element &&
                  !(isFlat && followsFlat);
    followsFlat = isFlat;
  }
  return traversals > 1;
}

void PlanRun::finishSection(size_t end) {
  for (; nextStage < end; ++nextStage) {
    const StageInterface &stage = plan.sequence[nextStage];
    if (!stage.isSweep())
      continue;
    elementsFilled |= plan.sweeps[stage.index].over == Extent::Element;
    for (const ScalarReduction &reduction : scalarReductions[stage.index])
      groupReductionsDone += reduction.ofGroup;
  }
}

void PlanRun::runWindows(const Step &step, size_t end) {
  // The memory of matrices is for the windows of the threads that there were at the start.
  if (!plan.hasWholeMatrices())
    windows.assign(SweepDomain::threadsFor(windows.cost(), step.pool));
  for (const TensorWindows::Window &window : windows.shared())
    runStages({step, window, false, nextStage, elementsFilled, memoryOf(0)}, end);
  if (!windows.hasOwn())
    return;
  forParts(step.pool, windows.threads(), 1, [&](size_t beginThread, size_t endThread) {
    const upd_pool own = callingThread();
    const Step alone{step.hypers, step.initial, own, step.fill, step.observer};
    for (size_t thread = beginThread; thread < endThread; ++thread)
      for (const TensorWindows::Window &window : windows.own(thread))
        runStages({alone, window, true, nextStage, elementsFilled, memoryOf(thread + 1)}, end);
  });
}

void PlanRun::runStages(Walk walk, size_t end) {
  placeMatrices(walk);
  while (walk.stage < end) {
    const StageInterface &stage = plan.sequence[walk.stage];
    if (stage.kind == StageInterface::Kind::Product) {
      multiply(walk, stage);
      ++walk.stage;
      continue;
    }
    if (stage.kind == StageInterface::Kind::Call) {
      const size_t callsEnd = callsEnds[walk.stage];
      runCalls(walk, callsEnd);
      walk.stage = callsEnd;
      continue;
    }
    if (stage.isPrologue()) {
      prologueRows.evaluate(walk.stage++, walk.tensors.begin, walk.tensors.end, walk.step.hypers,
                            walk.step.pool);
      continue;
    }
    const Traversal traversal = nextTraversal(walk);
    const SweepInterface &first = plan.sweeps[traversal.firstSweep];
    setColumnStreams(walk, first, true);
    runTraversal(traversal);
    setColumnStreams(walk, first, false);
    for (uint32_t sweep = 0; sweep < traversal.sweeps; ++sweep)
      combine(walk, traversal.firstSweep + sweep);
  }
}

/// Returns a traversal with the next sweep. If that is a flat sweep over elements, includes all
/// such sweeps directly after it, which then find elements in the cache.
PlanRun::Traversal PlanRun::nextTraversal(Walk &walk) {
  const uint32_t first = plan.sequence[walk.stage].index;
  const PrologueRows::Difference difference = prologueRows.differenceAt(walk.stage);
  const SweepDomain::Key key = SweepDomain::keyOf(plan.sweeps[first]);
  uint32_t count = 1;
  ++walk.stage;
  while (key.kind == SweepDomain::Kind::Elements && walk.stage < plan.sequence.size() &&
         plan.sequence[walk.stage].isSweep() &&
         SweepDomain::keyOf(plan.sweeps[first + count]) == key) {
    ++count;
    ++walk.stage;
  }
  const bool overElements = plan.sweeps[first].over == Extent::Element;
  const bool fills = walk.step.fill != Fill::Nothing && overElements && !walk.elementsFilled;
  walk.elementsFilled |= overElements;
  const bool isLast = walk.stage == plan.sequence.size();
  return {walk.step, walk.tensors, walk.isOwn, domainOf(key), first,
          count,     fills,        isLast,     difference};
}
