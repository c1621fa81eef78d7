//===- PlanSweep.cpp - Passes over the tensors of a plan, on all threads ----------------------===//

#include "runtime/base/FloatEnvironment.h"
#include "runtime/cpu/PlanRun.h"

#include <algorithm>

using namespace updraft::runtime;

void PlanRun::runSweep(const Sweep &sweep, PassDomain &domain) const {
  const auto [begin, end] = sweep.walk.tensors;
  if (begin == end)
    return;
  if (sweep.walk.isOwn)
    return runWhole(sweep, begin, end);
  const upd_pool &pool = sweep.walk.step.pool;
  const StepPartition &parts = domain.parts(begin, end, pool);
  if (parts.parts() == 1)
    return runPart(sweep, parts, 0);
  struct Job {
    const PlanRun &run;
    const Sweep &sweep;
    const StepPartition &parts;
  } job{*this, sweep, parts};
  pool.run(
      pool.pool, static_cast<int32_t>(parts.parts()),
      [](void *context, int32_t part) {
        DefaultFloatEnvironment environment;
        const Job &job = *static_cast<const Job *>(context);
        job.run.runPart(job.sweep, job.parts, static_cast<size_t>(part));
      },
      &job);
}

void PlanRun::runPart(const Sweep &sweep, const StepPartition &parts, size_t part) const {
  StepBoundary begin = parts[part];
  const StepBoundary end = parts[part + 1];
  if (begin.tensor == end.tensor)
    return runTensor(sweep, begin.tensor, begin.element, end.element);
  if (begin.element != 0) {
    runTensor(sweep, begin.tensor, begin.element, sweep.domain.range(begin.tensor)->end);
    ++begin.tensor;
  }
  runWhole(sweep, begin.tensor, end.tensor);
  if (end.element != 0)
    runTensor(sweep, end.tensor, 0, end.element);
}

void PlanRun::runTensor(const Sweep &sweep, size_t position, int64_t begin, int64_t end) const {
  if (begin >= end || isSkipped(position))
    return;
  if (sweep.fillsStates && isFirst(position))
    fillElements(sweep, position, begin, end);
  if (sweep.passes == 1) {
    const upd_range range{begin, end};
    return call(sweep, sweep.firstPass, position, &range, 1);
  }
  for (int64_t leaf = begin; leaf < end; leaf += UPD_LEAF_ELEMENTS) {
    const upd_range range{leaf, std::min<int64_t>(leaf + UPD_LEAF_ELEMENTS, end)};
    for (uint32_t i = 0; i < sweep.passes; ++i)
      call(sweep, sweep.firstPass + i, position, &range, 1);
  }
}

/// Tensors that are run over from start to end, in one call where their rows are equal: it is here
/// that the cost per tensor counts.
void PlanRun::runWhole(const Sweep &sweep, size_t begin, size_t end) const {
  if (sweep.passes != 1 || sweep.fillsStates) {
    for (size_t i = begin; i < end; ++i)
      runTensor(sweep, i, 0, sweep.domain.range(i)->end);
    return;
  }
  while (begin < end) {
    const uint32_t row = list[begin].row;
    size_t next = begin + 1;
    while (next < end && prologueRows.areEqual(row, list[next].row, sweep.rowsDifferBy))
      ++next;
    if (!prologueRows.isSkipped(row))
      call(sweep, sweep.firstPass, begin, sweep.domain.range(begin), next - begin);
    begin = next;
  }
}

/// Runs a pass over ranges in tensors that follow each other.
void PlanRun::call(const Sweep &sweep, uint32_t pass, size_t position, const upd_range *ranges,
                   size_t count) const {
  double *slots = nullptr;
  if (!partials[pass].empty()) {
    const PassDomain &domain = sweep.domain;
    const int64_t leaf = domain.leavesBefore(position) + domain.leafOf(ranges->begin);
    slots = const_cast<double *>(partials[pass].data()) +
            static_cast<size_t>(leaf) * scalarReductions[pass].size();
  }
  functions.passes[pass](
      prologueRows.data(list[position].row), streams.data() + position * streamCount, ranges,
      static_cast<int64_t>(count), slots, hasSites ? sites.data() + position : nullptr);
}

void PlanRun::fillElements(const Sweep &sweep, size_t position, int64_t begin, int64_t end) const {
  if (sweep.domain.getKind() == PassDomain::Kind::Blocks) {
    begin = shapes[position].blockStart(begin);
    end = shapes[position].blockStart(end);
  }
  const uint32_t group = prologueRows[list[position].row].group;
  for (size_t i = 0; i < streamCount; ++i) {
    const uint32_t state = interfaces[i].state;
    if (state == StreamInterface::none || interfaces[i].over != Extent::Element ||
        !isFilled(sweep.walk.step, group, state))
      continue;
    sweep.walk.step.initial.fill(group, state, stream(position, i), begin, end);
    if (interfaces[i].scales == StreamInterface::none)
      continue;
    const QuantBlocks blocks = blocksOf(position);
    sweep.walk.step.initial.fillScales(group, state, stream(position, interfaces[i].scales),
                                       blocks.startedBefore(begin), blocks.startedBefore(end));
  }
}

void PlanRun::fillRowStates(const Step &step) const {
  if (step.fill == Fill::Nothing)
    return;
  for (size_t i = 0; i < streamCount; ++i) {
    const auto [dtype, over, state, scales] = interfaces[i];
    if (state == StreamInterface::none || over == Extent::Element)
      continue;
    for (size_t position = 0; position < list.size(); ++position) {
      const uint32_t group = prologueRows[list[position].row].group;
      if (isFirst(position) && !isSkipped(position) && isFilled(step, group, state))
        step.initial.fill(group, state, stream(position, i), 0, shapes[position].count(over));
    }
  }
}
