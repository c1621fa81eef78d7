//===- StepPlan.cpp - A step as lists of tensors ----------------------------------------------===//

#include "runtime/cpu/StepPlan.h"

#include "runtime/cpu/ReductionTree.h"

#include <algorithm>

using namespace updraft::runtime;

StepPlan::StepPlan(std::shared_ptr<const Kernels> kernelsToUse) : kernels(std::move(kernelsToUse)) {
  const RuleInterface &interface = kernels->interface;
  for (size_t i = 0; i < interface.plans.size(); ++i)
    planRuns.emplace_back(kernels, i);
  hasGroupStates =
      std::any_of(interface.states.begin(), interface.states.end(),
                  [](const StateInterface &state) { return state.over == Extent::Group; });
}

void StepPlan::clear(size_t paramCount, size_t groupCount, const std::vector<int64_t> &besideSizes,
                     bool ofProbes) {
  clearPositions(paramCount);
  probed = ofProbes;
  const RuleInterface &interface = kernels->interface;
  groupReductions = interface.plans[probed ? interface.probedPlanOf(0) : 0].groupReductions();
  for (PlanRun &run : planRuns)
    run.clear();
  beside = besideSizes;
  groupSizes = beside;
  groupSizes.resize(groupCount);
}

void StepPlan::add(uint32_t param, size_t plan, const TensorShape &shape,
                   const PrologueRows::Key &key) {
  setPosition(param, planRuns[plan].add(param, shape, key));
  groupSizes[key.group] += shape.elements();
}

void StepPlan::finish(uint64_t seed, const std::vector<uint64_t> &numbers) {
  for (PlanRun &run : planRuns)
    run.finish(groupSizes, seed, numbers);
  if (!groupReductions.empty())
    orderGroups();
  if (hasGroupStates)
    lowestRows.resize(groupSizes.size());
}

/// Lists the tensors of each group over all plans, in the order of their parameters.
void StepPlan::orderGroups() {
  const size_t groups = groupSizes.size();
  groupStarts.assign(groups + 1, 0);
  std::vector<std::pair<uint32_t, Member>> all; // with the parameter
  for (uint32_t i = 0; i < planRuns.size(); ++i)
    for (uint32_t position = 0; position < planRuns[i].tensors().size(); ++position)
      all.push_back({planRuns[i].tensors()[position].param, {i, position}});
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  auto groupOf = [&](const Member &member) {
    const PlanRun &run = planRuns[member.run];
    return run.rows()[run.tensors()[member.position].row].group;
  };
  for (const auto &[param, member] : all)
    ++groupStarts[groupOf(member) + 1];
  for (size_t i = 0; i < groups; ++i)
    groupStarts[i + 1] += groupStarts[i];
  members.resize(all.size());
  std::vector<size_t> next(groupStarts.begin(), groupStarts.end() - 1);
  for (const auto &[param, member] : all)
    members[next[groupOf(member)]++] = member;
  groupScratch.resize(all.size());
  groupValues.resize(groups);
}

bool StepPlan::hasFirst() const {
  return std::any_of(planRuns.begin(), planRuns.end(),
                     [](const PlanRun &run) { return run.rows().hasFirst(); });
}

bool StepPlan::hasSkipped() const {
  return std::any_of(planRuns.begin(), planRuns.end(),
                     [](const PlanRun &run) { return run.rows().hasSkipped(); });
}

bool StepPlan::lacksStates() const {
  return !kernels->interface.states.empty() &&
         (hasFirst() || std::any_of(planRuns.begin(), planRuns.end(),
                                    [](const PlanRun &run) { return run.rows().lacksScalars(); }));
}

void StepPlan::start(const GroupHypers &hypers, const upd_pool &pool) {
  if (lacksStates())
    initial.evaluate(*kernels, hypers);
  combined = 0;
  for (PlanRun &run : planRuns)
    run.start({hypers, initial, pool});
}

void StepPlan::run(const GroupHypers &hypers, const upd_pool &pool, bool fresh,
                   const upd_step_observer *observer) {
  PlanRun::Fill fill = PlanRun::Fill::Nothing;
  if (hasFirst() && !(fresh && initial.allZero()))
    fill = fresh ? PlanRun::Fill::NotZero : PlanRun::Fill::Everything;
  const PlanRun::Step step{hypers, initial, pool, fill, observer};
  for (PlanRun &run : planRuns)
    run.fillStatesFirst(step);
  for (;;) {
    bool atEnd = true;
    for (PlanRun &run : planRuns) {
      if (run.tensors().empty())
        continue;
      run.run(step);
      atEnd &= run.isAtEnd();
    }
    if (atEnd)
      break;
    // A plan waits only for its own reductions, so the plan that has run the fewest can continue.
    combineGroups();
  }
  for (PlanRun &run : planRuns)
    run.complete(step);
  commitScalars();
}

/// Combines the reductions over groups that all plans have run.
void StepPlan::combineGroups() {
  size_t ready = groupReductions.size();
  for (const PlanRun &run : planRuns)
    if (!run.tensors().empty())
      ready = std::min(ready, run.groupReductionsRun());
  for (; combined < ready; ++combined) {
    for (size_t group = 0; group + 1 < groupStarts.size(); ++group) {
      size_t count = 0;
      for (size_t i = groupStarts[group]; i < groupStarts[group + 1]; ++i) {
        const PlanRun &run = planRuns[members[i].run];
        if (!run.isSkipped(members[i].position))
          groupScratch[count++] = run.groupPart(members[i].position, combined);
      }
      groupValues[group] = combineValues(groupReductions[combined], groupScratch.data(), count, 1);
    }
    for (PlanRun &run : planRuns)
      run.setGroupReduction(combined, groupValues);
  }
  for (PlanRun &run : planRuns)
    run.setCombined(combined);
}

void StepPlan::commitScalars() {
  for (const PlanRun &run : planRuns)
    run.rows().commitScalars();
  if (!hasGroupStates)
    return;
  // All tensors of a group compute the same value for its states if it depends only on the group.
  // Otherwise the value of the first parameter is stored.
  const std::vector<StateInterface> &states = kernels->interface.states;
  for (size_t state = 0; state < states.size(); ++state) {
    if (states[state].over != Extent::Group)
      continue;
    std::fill(lowestRows.begin(), lowestRows.end(), PrologueRows::GroupRow());
    for (uint32_t i = 0; i < planRuns.size(); ++i)
      if (states[state].isOf(kernels->interface.plans[i].tensors))
        planRuns[i].rows().findLowest(i, lowestRows);
    for (const PrologueRows::GroupRow &lowest : lowestRows) {
      if (lowest.param == absent)
        continue;
      const PlanRun &run = planRuns[lowest.plan];
      const auto scalar = std::find(run.scalarStates().begin(), run.scalarStates().end(), state) -
                          run.scalarStates().begin();
      run.rows().commitScalar(lowest.row, static_cast<size_t>(scalar));
    }
  }
}

void StepPlan::advance(int64_t count) {
  for (PlanRun &run : planRuns)
    if (!run.rows().advance(count))
      discard();
}
