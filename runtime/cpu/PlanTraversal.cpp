//===- PlanTraversal.cpp - Sweeps over the tensors of a plan, on all threads ------------------===//

#include "runtime/base/PoolParts.h"
#include "runtime/cpu/PlanRun.h"

#include <algorithm>

using namespace updraft::runtime;

void PlanRun::runTraversal(const Traversal &traversal) const {
  const auto [begin, end] = traversal.tensors;
  if (begin == end)
    return;
  if (traversal.isOwn)
    return runPart(traversal, {begin, 0}, {end, 0});
  const upd_pool &pool = traversal.step.pool;
  const StepPartition &parts = traversal.domain.parts(begin, end, pool);
  if (parts.parts() == 1)
    return runPart(traversal, parts[0], parts[1]);
  runParts(pool, parts.parts(),
           [&](size_t part) { runPart(traversal, parts[part], parts[part + 1]); });
  // If a part ends within a tensor, several threads have run over that tensor.
  for (size_t part = 1, last = end; part < parts.parts() && traversal.isLast; ++part)
    if (const StepBoundary &cut = parts[part]; cut.element != 0 && cut.tensor != last) {
      observe(traversal.step, cut.tensor, cut.tensor + 1);
      last = cut.tensor;
    }
}

/// Describes the span of a part: the functions that it calls, and the elements or other units.
void PlanRun::describe(timeline::Event &event, const Traversal &traversal, StepBoundary begin,
                       StepBoundary end) const {
  event.name(plan.prefix);
  if (traversal.sweeps == 0)
    event.name(" initial states");
  else
    event.name("_sweep", traversal.firstSweep);
  if (traversal.sweeps > 1)
    event.name(" to ", traversal.firstSweep + traversal.sweeps - 1);
  int64_t count = end.element - begin.element;
  for (size_t position = begin.tensor; position < end.tensor; ++position)
    count += traversal.domain.range(position)->end;
  event.number(SweepDomain::nameOf(traversal.domain.getKey().kind), count);
  event.number("tensors", static_cast<int64_t>(end.tensor - begin.tensor + (end.element != 0)));
}

/// Runs consecutive tensors with equal rows in one call, to reduce the cost per tensor.
void PlanRun::runPart(const Traversal &traversal, StepBoundary begin, StepBoundary end) const {
  const timeline::Span span(
      "sweep", [&](timeline::Event &event) { describe(event, traversal, begin, end); });
  const size_t firstWhole = begin.tensor + (begin.element != 0);
  if (firstWhole > end.tensor) {
    const upd_range range{begin.element, end.element};
    return runRanges(traversal, begin.tensor, &range, 1);
  }
  if (begin.element != 0) {
    const upd_range range{begin.element, traversal.domain.range(begin.tensor)->end};
    runRanges(traversal, begin.tensor, &range, 1);
  }
  for (size_t position = firstWhole, next; position < end.tensor; position = next) {
    next = equalFrom(traversal, position, end.tensor);
    runRanges(traversal, position, traversal.domain.range(position), next - position);
  }
  if (end.element != 0) {
    const upd_range range{0, end.element};
    runRanges(traversal, end.tensor, &range, 1);
  }
  if (traversal.isLast)
    observe(traversal.step, firstWhole, end.tensor);
}

/// Returns the end of the tensors from `position` on that one call can run over.
size_t PlanRun::equalFrom(const Traversal &traversal, size_t position, size_t end) const {
  size_t next = position + 1;
  if (traversal.sweeps != 1 || traversal.fillsStates)
    return next;
  const uint32_t row = list[position].row;
  while (next < end && prologueRows.areEqual(row, list[next].row, traversal.rowsDifferBy))
    ++next;
  return next;
}

/// Runs the sweeps of a traversal over one range in each of `count` consecutive tensors. `count` is
/// 1 if there are several sweeps or states to fill. With several sweeps, each leaf goes through all
/// of them before the next leaf, so that its elements are in the cache.
void PlanRun::runRanges(const Traversal &traversal, size_t position, const upd_range *ranges,
                        size_t count) const {
  if (isSkipped(position))
    return;
  const auto [begin, end] = *ranges;
  if (traversal.fillsStates && isFirst(position))
    fillElements(traversal, position, begin, end);
  const int64_t leaf = traversal.sweeps == 1 ? end - begin : UPD_LEAF_ELEMENTS;
  int64_t start = begin;
  do {
    const upd_range range{start, std::min(start + leaf, end)};
    for (uint32_t sweep = traversal.firstSweep; sweep < traversal.firstSweep + traversal.sweeps;
         ++sweep)
      if (isNeeded(position, sweepConditions[sweep]))
        functions.sweeps[sweep](prologueRows.data(list[position].row),
                                streams.data() + position * streamCount,
                                count == 1 ? &range : ranges, static_cast<int64_t>(count),
                                slotsFor(traversal, sweep, position, start),
                                sitesOf(traversal.domain.getKey().matrices, position));
    start = range.end;
  } while (start < end);
}

/// Returns the memory for a sweep's reductions over ranges that begin at `begin`.
double *PlanRun::slotsFor(const Traversal &traversal, uint32_t sweep, size_t position,
                          int64_t begin) const {
  if (partials[sweep].empty())
    return nullptr;
  const int64_t leaf = traversal.domain.leavesBefore(position) + traversal.domain.leafOf(begin);
  return const_cast<double *>(partials[sweep].data()) +
         static_cast<size_t>(leaf) * scalarReductions[sweep].size();
}

/// Reports tensors [begin, end) to the observer, except those that are skipped.
void PlanRun::observe(const Step &step, size_t begin, size_t end) const {
  if (!step.observer)
    return;
  uint32_t params[UPD_OBSERVED_PARAMS];
  size_t count = 0;
  for (size_t position = begin; position < end; ++position) {
    if (!isSkipped(position))
      params[count++] = list[position].param;
    if (count == UPD_OBSERVED_PARAMS || (count != 0 && position + 1 == end)) {
      step.observer->stepped(step.observer->context, params, count);
      count = 0;
    }
  }
}

void PlanRun::fillElements(const Traversal &traversal, size_t position, int64_t begin,
                           int64_t end) const {
  if (traversal.domain.getKey().kind == SweepDomain::Kind::Blocks) {
    begin = shapes[position].blockStart(begin);
    end = shapes[position].blockStart(end);
  }
  const uint32_t group = prologueRows[list[position].row].group;
  for (size_t i = 0; i < streamCount; ++i) {
    const uint32_t state = plan.streams[i].state;
    if (state == StreamInterface::none || isFilledFirst[i] ||
        !isFilled(traversal.step, group, state))
      continue;
    traversal.step.initial.fill(group, state, stream(position, i), begin, end);
    if (plan.streams[i].scales == StreamInterface::none)
      continue;
    const QuantBlocks blocks = blocksOf(position);
    traversal.step.initial.fillScales(group, state, stream(position, plan.streams[i].scales),
                                      blocks.startedBefore(begin), blocks.startedBefore(end));
  }
}

void PlanRun::fillStatesFirst(const Step &step) const {
  if (step.fill == Fill::Nothing)
    return;
  for (size_t i = 0; i < streamCount; ++i) {
    if (!isFilledFirst[i])
      continue;
    const StreamInterface &stream = plan.streams[i];
    for (size_t position = 0; position < list.size(); ++position) {
      const uint32_t group = prologueRows[list[position].row].group;
      if (isFirst(position) && !isSkipped(position) && isFilled(step, group, stream.state))
        step.initial.fill(group, stream.state, this->stream(position, i), 0,
                          shapes[position].count(stream.over));
    }
  }
}

/// Whether the first sweep is too late to fill a state: the state isn't over elements, or products
/// or calls access it, maybe before the sweep.
bool PlanRun::isNeededFirst(uint32_t stream) const {
  auto isIn = [&](const ProductInterface &product) {
    return product.lhs == stream || product.rhs == stream || product.addend == stream ||
           product.target == stream;
  };
  auto takes = [&](const CallInterface &call) {
    return std::find(call.operands.begin(), call.operands.end(), stream) != call.operands.end();
  };
  return plan.streams[stream].state != StreamInterface::none &&
         (plan.streams[stream].over != Extent::Element ||
          std::any_of(plan.products.begin(), plan.products.end(), isIn) ||
          std::any_of(plan.calls.begin(), plan.calls.end(), takes));
}
