//===- PlanRun.cpp - One plan of a rule, applied to its tensors -------------------------------===//

#include "runtime/cpu/PlanRun.h"

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/cpu/ReductionTree.h"

#include <algorithm>
#include <span>

using namespace updraft::runtime;

PlanRun::PlanRun(std::shared_ptr<const Kernels> kernelsToUse, size_t planIndex)
    : kernels(std::move(kernelsToUse)), plan(kernels->interface.plans[planIndex]),
      functions(kernels->plans[planIndex]), streamCount(plan.streams.size()),
      windows(plan.hasWholeMatrices()), prologueRows(kernels, planIndex), temporaries(plan),
      matrices(plan), partials(plan.sweeps.size()) {
  domains.emplace_back(SweepDomain::Key());
  for (const StreamInterface &stream : std::span(plan.streams).first(plan.firstTemporary))
    elementBytes += stream.over == Extent::Element ? static_cast<int64_t>(sizeOf(stream.dtype)) : 0;
  for (uint32_t stream = 0; stream < streamCount; ++stream)
    isFilledFirst.push_back(isNeededFirst(stream));
  hasSites = plan.usesRandom;
  ScalarReductions numbered = plan.scalarReductions();
  scalarReductions = std::move(numbered.ofSweeps);
  groupReductions = std::move(numbered.overGroups);
  for (const SweepInterface &sweep : plan.sweeps) {
    const SweepDomain::Key key = SweepDomain::keyOf(sweep);
    hasSites |= key.kind != SweepDomain::Kind::Elements;
    if (std::none_of(domains.begin(), domains.end(),
                     [&](const SweepDomain &domain) { return domain.getKey() == key; }))
      domains.emplace_back(key);
    for (const ReductionInterface &reduction : sweep.reductions)
      if (reduction.over == Extent::Column)
        temporaries.markColumns(reduction.into - plan.firstTemporary, sweep.over);
  }
  sweepConditions.resize(plan.sweeps.size());
  for (const StageInterface &stage : plan.sequence)
    if (stage.isSweep())
      sweepConditions[stage.index] = stage.condition;
  for (size_t stage = 0; stage < plan.sequence.size(); ++stage)
    callsEnds.push_back(
        plan.sequence[stage].kind == StageInterface::Kind::Call ? plan.callsEndFrom(stage) : stage);
  // `create` has reported a missing library.
  if (plan.needsLapack())
    static_cast<void>(Lapack::load(lapack));
  hasOwnMatrices = matrices.outlivesSections([&](size_t stage) { return sectionEndFrom(stage); });
}

void PlanRun::clear() {
  list.clear();
  shapes.clear();
  streams.clear();
  for (std::vector<upd_site> &ofMatrices : sites)
    ofMatrices.clear();
  prologueRows.clear();
  for (SweepDomain &domain : domains)
    domain.clear();
  windows.clear();
  matrixPlaces.clear();
}

uint32_t PlanRun::add(uint32_t param, const TensorShape &ofTensor, const PrologueRows::Key &key) {
  TensorShape shape = ofTensor;
  shape.chosen = plan.chosenOf(shape.rows, shape.columns);
  const auto position = static_cast<uint32_t>(list.size());
  list.push_back({param, prologueRows.add(param, key, shape)});
  shapes.push_back(shape);
  streams.resize(streams.size() + streamCount, nullptr);
  for (SweepDomain &domain : domains)
    domain.add(shape);
  // A fused multiply-add takes about a sixteenth of the time of an element of a sweep.
  int64_t operations = 0;
  for (const ProductInterface &product : plan.products)
    operations += operationsOf(product, position);
  for (const CallInterface &call : plan.calls)
    operations += operationsOf(call, position);
  matrixPlaces.push_back(matrices.place(shape));
  windows.add({shape.elements() * elementBytes + static_cast<int64_t>(matrixPlaces.back().bytes),
               domains[0].costOf(position) + operations / 16});
  return position;
}

void PlanRun::finish(const std::vector<int64_t> &groupSizes, uint64_t seed,
                     const std::vector<uint64_t> &numbers) {
  prologueRows.finish(groupSizes);
  temporaries.allocate(shapes);
  if (hasOwnMatrices)
    allocateOwnMatrices();
  for (uint32_t i = 0; i < plan.sweeps.size(); ++i)
    partials[i].resize(static_cast<size_t>(domainOf(SweepDomain::keyOf(plan.sweeps[i])).leaves()) *
                       scalarReductions[i].size());
  groupParts.resize(list.size() * groupReductions.size());
  const size_t firstTemporary = plan.firstTemporary;
  for (size_t position = 0; position < list.size(); ++position) {
    for (size_t i = 0; i < plan.temporaries().size(); ++i)
      if (temporaries.has(i))
        setStream(position, firstTemporary + i, temporaries.values(position, i));
    if (hasSites) {
      const uint32_t param = list[position].param;
      for (size_t i = 0; i < SweepDomain::siteCountOf(plan); ++i) {
        const TensorShape shape = shapes[position].of(SweepDomain::siteMatrices[i]);
        sites[i].push_back(
            {seed, 0, numbers.empty() ? param : numbers[param], shape.rows, shape.columns});
      }
    }
  }
}

void PlanRun::allocateOwnMatrices() {
  size_t total = 0;
  for (const MatrixLayout::Places &places : matrixPlaces)
    total += places.bytes;
  grow(ownMatrices, total, "the matrices of a step");
  char *next = ownMatrices.data();
  for (size_t position = 0; position < list.size(); ++position) {
    placeMatrices(position, next);
    next += matrixPlaces[position].bytes;
  }
}

void PlanRun::placeMatrices(size_t position, char *memory) {
  for (size_t i = 0; i < matrices.streams().size(); ++i)
    setStream(position, matrices.streams()[i], memory + matrixPlaces[position].offsets[i]);
}

SweepDomain &PlanRun::domainOf(SweepDomain::Key key) {
  return *std::find_if(domains.begin(), domains.end(),
                       [&](const SweepDomain &domain) { return domain.getKey() == key; });
}

const upd_site *PlanRun::sitesOf(Extent matrices, size_t position) const {
  if (!hasSites)
    return nullptr;
  return sites[SweepDomain::siteIndexOf(matrices)].data() + position;
}

void PlanRun::start(const Step &step) {
  nextStage = groupReductionsDone = groupReductionsCombined = 0;
  elementsFilled = false;
  for (std::vector<upd_site> &ofMatrices : sites)
    for (size_t i = 0; i < ofMatrices.size(); ++i)
      ofMatrices[i].step = static_cast<uint64_t>(prologueRows[list[i].row].steps) + 1;
  reserveMatrices(step.pool);
  prologueRows.start(step.initial);
  for (; nextStage < plan.sequence.size() && plan.sequence[nextStage].isPrologue(); ++nextStage)
    prologueRows.evaluate(nextStage, 0, prologueRows.size(), step.hypers, step.pool);
}

void PlanRun::setColumnStreams(const Walk &walk, const SweepInterface &sweep, bool toBlocks) {
  const size_t firstTemporary = plan.firstTemporary;
  for (const ReductionInterface &reduction : sweep.reductions) {
    if (reduction.over != Extent::Column)
      continue;
    const size_t index = reduction.into - firstTemporary;
    for (size_t position = walk.tensors.begin; position < walk.tensors.end; ++position)
      setStream(position, reduction.into,
                toBlocks ? temporaries.blockValues(position, index)
                         : temporaries.values(position, index));
  }
}

/// Combines the sweep's values for each leaf or block into the results of its reductions.
void PlanRun::combine(const Walk &walk, uint32_t sweepIndex) {
  constexpr size_t tensorsPerPart = 2048;
  const SweepInterface &sweep = plan.sweeps[sweepIndex];
  const size_t firstTemporary = plan.firstTemporary;
  for (const ReductionInterface &reduction : sweep.reductions)
    if (reduction.over == Extent::Column)
      temporaries.combineColumns(reduction.kind, reduction.into - firstTemporary, shapes,
                                 walk.tensors.begin, walk.tensors.end, walk.step.pool);

  const std::vector<ScalarReduction> &reductions = scalarReductions[sweepIndex];
  const size_t slots = reductions.size();
  if (slots == 0)
    return;
  const SweepDomain &domain = domainOf(SweepDomain::keyOf(sweep));
  double *all = partials[sweepIndex].data();
  forParts(walk.step.pool, walk.tensors.end - walk.tensors.begin, tensorsPerPart,
           [&](size_t begin, size_t end) {
             for (size_t position = walk.tensors.begin + begin; position < walk.tensors.begin + end;
                  ++position) {
               if (isSkipped(position))
                 continue;
               const int64_t before = domain.leavesBefore(position);
               const auto leaves = static_cast<size_t>(domain.leavesBefore(position + 1) - before);
               double *values = all + static_cast<size_t>(before) * slots;
               for (size_t slot = 0; slot < slots; ++slot) {
                 const auto [kind, ofGroup, index] = reductions[slot];
                 // `all` may be null if no tensor has elements.
                 double *first = leaves == 0 ? nullptr : values + slot;
                 const double value = combineValues(kind, first, leaves, slots);
                 if (ofGroup)
                   groupParts[position * groupReductions.size() + index] = value;
                 else
                   prologueRows.setReduced(list[position].row, index, value);
               }
             }
           });
}

void PlanRun::setGroupReduction(size_t reduction, const std::vector<double> &valueOfGroup) {
  for (uint32_t row = 0; row < prologueRows.size(); ++row)
    prologueRows.setReduced(row, groupReductions[reduction], valueOfGroup[prologueRows[row].group]);
}
