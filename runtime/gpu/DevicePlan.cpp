//===- DevicePlan.cpp - A plan of a rule for tensors on a device ------------------------------===//

#include "runtime/gpu/DevicePlan.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <string>

using namespace updraft::gpu;
using updraft::runtime::Extent;
using updraft::runtime::ReductionInterface;
using updraft::runtime::sizeOf;
using updraft::runtime::Status;
using updraft::runtime::StreamInterface;
using updraft::runtime::SweepDomain;
using updraft::runtime::SweepInterface;

DevicePlan::DevicePlan(std::shared_ptr<const runtime::Kernels> kernelsToUse, size_t planIndex)
    : kernels(std::move(kernelsToUse)), number(planIndex),
      plan(kernels->interface.plans[planIndex]), matrices(plan) {
  bool usesSites = plan.usesRandom, hasOtherMatrices = false;
  isScales.resize(plan.streams.size());
  for (const StreamInterface &stream : plan.streams)
    if (stream.scales != StreamInterface::none)
      isScales[stream.scales] = 1;
  auto hasQuantBlocks = [&](const std::vector<uint32_t> &indices) {
    return std::any_of(indices.begin(), indices.end(), [&](uint32_t index) {
      return plan.streams[index].scales != StreamInterface::none;
    });
  };
  hasBlocks.resize(plan.temporaries().size());
  reduced.resize(plan.temporaries().size());
  runtime::ScalarReductions numbered = plan.scalarReductions();
  reductions = std::move(numbered.ofSweeps);
  groupReductions = std::move(numbered.overGroups);
  reducedCount = numbered.count;
  for (size_t i = 0; i < plan.sweeps.size(); ++i) {
    const SweepInterface &sweep = plan.sweeps[i];
    Launch &launch = sweeps.emplace_back();
    launch.domain = SweepDomain::keyOf(sweep);
    launch.byWarps = !sweep.reductions.empty() || sweep.isMatrix || sweep.isBatches ||
                     hasQuantBlocks(sweep.reads) || hasQuantBlocks(sweep.writes);
    launch.slots = reductions[i].size();
    usesSites |= launch.domain.kind != SweepDomain::Kind::Elements;
    hasOtherMatrices |= launch.domain.matrices != Extent::Element;
    domains.try_emplace(launch.domain, launch.domain);
    for (const ReductionInterface &reduction : sweep.reductions)
      if (reduction.over == Extent::Column) {
        launch.ownStreams = true;
        hasBlocks[reduction.into - plan.firstTemporary] = 1;
        reduced[reduction.into - plan.firstTemporary] = sweep.over;
      }
  }
  if (usesSites)
    siteCount = hasOtherMatrices ? SweepDomain::siteCountOf(plan) : 1;
  hasOwnMatrices =
      matrices.outlivesSections([&](size_t stage) { return sectionEndFrom(stage, false); });
  // `create` has reported a missing library.
  if (plan.needsLapack())
    static_cast<void>(runtime::Lapack::load(lapack));
}

/// Returns the end of the section that begins with `stage`: a prologue that needs a reduction over
/// groups that isn't combined yet. `waits`: some aren't at the start.
size_t DevicePlan::sectionEndFrom(size_t stage, bool waits) const {
  for (; stage < plan.sequence.size(); ++stage) {
    const runtime::StageInterface &next = plan.sequence[stage];
    if (next.isPrologue() && waits)
      break;
    if (next.isSweep())
      for (const runtime::ScalarReduction &reduction : reductions[next.index])
        waits |= reduction.ofGroup;
  }
  return stage;
}

/// The sites of all tensors for sweeps of a domain.
upd_site *DevicePlan::sitesOf(const DeviceArena &tables, const Domain &domain) const {
  const size_t index = SweepDomain::siteIndexOf(domain.matrices);
  return tables.at(sites, index < siteCount ? index * list.size() : 0);
}

Status DevicePlan::load(Module &module) {
  prologues.resize(plan.prologues);
  for (size_t i = 0; i < prologues.size(); ++i)
    if (Status status = module.find(plan.prefix + "_prologue" + std::to_string(i), prologues[i]);
        !status.ok())
      return status;
  for (size_t i = 0; i < sweeps.size(); ++i)
    if (Status status = module.find(plan.prefix + "_sweep" + std::to_string(i), sweeps[i].kernel);
        !status.ok())
      return status;
  return {};
}

void DevicePlan::clear() {
  list.clear();
  streams.clear();
  scalarData.clear();
  for (auto &[key, domain] : domains)
    domain.clear();
}

uint32_t DevicePlan::add(const SteppedTensor &tensor) {
  list.push_back(tensor);
  runtime::TensorShape &shape = list.back().shape;
  shape.chosen = plan.chosenOf(shape.rows, shape.columns);
  streams.resize(streams.size() + plan.streams.size(), nullptr);
  scalarData.resize(scalarData.size() + plan.scalarStates.size(), nullptr);
  for (auto &[key, domain] : domains)
    domain.add(tensor.byRows ? runtime::TensorShape{0, 0, 0} : shape);
  return static_cast<uint32_t>(list.size() - 1);
}

void DevicePlan::setStream(size_t position, size_t stream, void *data) {
  void *&entry = streams[position * plan.streams.size() + stream];
  streamsChanged |= entry != data;
  entry = data;
  if (const uint32_t scales = plan.streams[stream].scales; scales != StreamInterface::none)
    streams[position * plan.streams.size() + scales] = blocksOf(position).scalesOf(data);
}

size_t DevicePlan::rowBytes() const { return plan.rowScalars * sizeOf(kernels->interface.compute); }

//===----------------------------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------------------------===//

bool DevicePlan::findAligned() {
  std::vector<char> found;
  found.reserve(list.size());
  for (size_t position = 0; position < list.size(); ++position) {
    bool all = true;
    for (size_t i = 0; i < plan.streams.size(); ++i)
      all &=
          isScales[i] || reinterpret_cast<uintptr_t>(stream(position, i)) % UPD_GPU_ALIGNMENT == 0;
    found.push_back(all);
  }
  std::swap(aligned, found);
  return aligned != found;
}

Status DevicePlan::reserve(DeviceArena &tables, DeviceArena &scratch, size_t matrixBytes,
                           const upd_pool &pool) {
  const size_t count = list.size();
  begunTensors = tables.reserve<BegunTensor>(count);
  prologueTensors = tables.reserve<upd_gpu_tensor>(count);
  facts = tables.reserve<double>(count * UPD_TENSOR_FACTS);
  sites = tables.reserve<upd_site>(siteCount * count);
  scalarTable = tables.reserve<ScalarState>(scalarData.size());
  streamTable = tables.reserve<void *>(streams.size());

  rows = scratch.reserve<char>(count * rowBytes());
  scalarValues = scratch.reserve<double>(scalarData.size());
  nextScalarValues = scratch.reserve<double>(count * nextScalars());
  reducedValues = scratch.reserve<double>(count * reducedCount);
  groupParts = scratch.reserve<double>(count * groupReductions.size());
  temporaries.clear();
  columnBlocks.clear();
  for (const SteppedTensor &tensor : list)
    for (size_t i = 0; i < plan.temporaries().size(); ++i) {
      const runtime::StreamInterface &temporary = plan.temporaries()[i];
      const bool isElsewhere = tensor.byRows || runtime::isMatrix(temporary.over);
      const int64_t own = isElsewhere ? 0 : tensor.shape.count(temporary.over);
      const auto values = static_cast<size_t>(own);
      temporaries.push_back(scratch.reserve<char>(values * sizeOf(temporary.dtype)));
      const runtime::TensorShape ofBlocks = tensor.shape.of(reduced[i]);
      const auto blocks = static_cast<size_t>(ofBlocks.blocks() * ofBlocks.columns);
      columnBlocks.push_back(scratch.reserve<double>(hasBlocks[i] ? blocks : 0));
    }

  reserveMatrices(scratch, matrixBytes);
  reservePackings(scratch);

  // A chunk is a leaf of a reduction tree.
  for (const auto &[key, domain] : domains)
    chunks[key] = tables.reserve<upd_gpu_chunk>(static_cast<size_t>(domain.leaves()));
  for (size_t i = 0; i < sweeps.size(); ++i) {
    Launch &launch = sweeps[i];
    const SweepDomain &domain = domains.at(launch.domain);
    launch.streams = launch.ownStreams ? tables.reserve<void *>(streams.size()) : streamTable;
    launch.partials = scratch.reserve<double>(chunks[launch.domain].count * launch.slots);
    const auto columnReductions = static_cast<size_t>(
        std::count_if(plan.sweeps[i].reductions.begin(), plan.sweeps[i].reductions.end(),
                      [](const auto &reduction) { return reduction.over == Extent::Column; }));
    size_t parts = 0, columns = 0;
    launch.partsBefore.assign(1, 0);
    launch.columnsBefore.assign(1, 0);
    for (size_t position = 0; position < count; ++position) {
      const int64_t leaves = domain.leavesBefore(position + 1) - domain.leavesBefore(position);
      parts += leaves > leavesOfPart
                   ? static_cast<size_t>((leaves - 1) / leavesOfPart + 1) * launch.slots
                   : 0;
      const runtime::TensorShape shape = list[position].shape.of(plan.sweeps[i].over);
      columns += columnReductions *
                 static_cast<size_t>(shape.batches *
                                     ((shape.columns + UPD_GPU_THREADS - 1) / UPD_GPU_THREADS));
      launch.partsBefore.push_back(parts);
      launch.columnsBefore.push_back(columns);
    }
    launch.parts = tables.reserve<Combination>(parts);
    launch.wholes = tables.reserve<Combination>(count * launch.slots);
    launch.columns = tables.reserve<ColumnCombination>(columns);
  }
  reserveProducts(tables);
  reserveTranspositions(tables);
  hostRows.assign(plan.hostCall() ? count * rowBytes() : 0, 0);
  return reserveHostCalls(matrixBytes, pool);
}

void DevicePlan::fill(DeviceArena &tables, const DeviceArena &scratch, const double *hypers,
                      const std::vector<int64_t> &groupSizes, uint64_t seed) {
  const size_t firstTemporary = plan.firstTemporary;
  for (size_t position = 0; position < list.size(); ++position)
    for (size_t i = 0; i < plan.temporaries().size(); ++i)
      streams[position * plan.streams.size() + firstTemporary + i] =
          scratch.at(temporaries[position * plan.temporaries().size() + i]);
  findAligned();
  fillStreams(tables, scratch);
  fillChunks(tables);
  fillTensors(tables, scratch, hypers, groupSizes, seed);
  fillCombinations(tables, scratch);
  fillProducts(tables, scratch);
  fillTranspositions(tables, scratch);
  streamsChanged = false;
}

void DevicePlan::fillStreams(DeviceArena &tables, const DeviceArena &scratch) {
  std::copy(streams.begin(), streams.end(), tables.host(streamTable));
  const size_t firstTemporary = plan.firstTemporary;
  for (size_t i = 0; i < sweeps.size(); ++i) {
    if (!sweeps[i].ownStreams)
      continue;
    void **own = tables.host(sweeps[i].streams);
    std::copy(streams.begin(), streams.end(), own);
    for (const ReductionInterface &reduction : plan.sweeps[i].reductions)
      for (size_t position = 0; position < list.size() && reduction.over == Extent::Column;
           ++position)
        own[position * plan.streams.size() + reduction.into] = scratch.at(
            columnBlocks[position * plan.temporaries().size() + reduction.into - firstTemporary]);
  }
}

void DevicePlan::fillChunks(DeviceArena &tables) {
  for (const auto &[key, domain] : domains) {
    const int64_t perChunk = domain.hasUnits() ? 1 : UPD_LEAF_ELEMENTS;
    upd_gpu_chunk *next = tables.host(chunks[key]);
    for (size_t position = 0; position < list.size(); ++position) {
      const upd_range *range = domain.range(position);
      for (int64_t begin = range->begin; begin < range->end; begin += perChunk)
        *next++ = {begin, std::min(begin + perChunk, range->end), static_cast<int32_t>(position),
                   aligned[position]};
    }
  }
}

void DevicePlan::fillTensors(DeviceArena &tables, const DeviceArena &scratch, const double *hypers,
                             const std::vector<int64_t> &groupSizes, uint64_t seed) {
  const size_t hyperCount = kernels->interface.hypers.size();
  for (size_t i = 0; i < list.size(); ++i) {
    const SteppedTensor &tensor = list[i];
    double *own = tables.host(facts) + i * UPD_TENSOR_FACTS;
    own[UPD_TENSOR_SIZE] = static_cast<double>(tensor.shape.elements());
    own[UPD_TENSOR_ROWS] = static_cast<double>(tensor.shape.rows);
    own[UPD_TENSOR_COLUMNS] = static_cast<double>(tensor.shape.columns);
    own[UPD_TENSOR_GROUP_SIZE] = static_cast<double>(groupSizes[tensor.group]);
    for (size_t j = 0; j < siteCount; ++j) {
      const runtime::TensorShape shape = tensor.shape.of(SweepDomain::siteMatrices[j]);
      tables.host(sites)[j * list.size() + i] = {seed, 0, tensor.number, shape.rows, shape.columns};
    }
    for (size_t j = 0; j < plan.scalarStates.size(); ++j) {
      const runtime::StateInterface &state = kernels->interface.states[plan.scalarStates[j]];
      tables.host(scalarTable)[i * plan.scalarStates.size() + j] = {
          scalarData[i * plan.scalarStates.size() + j], state.dtype,
          state.over == Extent::Tensor ? 1 : 0};
    }
    char *row = scratch.at(rows, i * rowBytes());
    double *before = scratch.at(scalarValues, i * plan.scalarStates.size());
    double *after = scratch.at(nextScalarValues, i * nextScalars());
    tables.host(begunTensors)[i] = {tables.at(facts, i * UPD_TENSOR_FACTS),
                                    siteCount != 0 ? tables.at(sites, i) : nullptr,
                                    static_cast<int64_t>(siteCount),
                                    static_cast<int64_t>(list.size()),
                                    tensor.steps,
                                    tensor.stepsType,
                                    tensor.first,
                                    kernels->interface.compute,
                                    row,
                                    tables.at(scalarTable, i * plan.scalarStates.size()),
                                    before,
                                    after,
                                    static_cast<int64_t>(plan.scalarStates.size()),
                                    static_cast<int64_t>(nextScalars() - plan.scalarStates.size())};
    tables.host(prologueTensors)[i] = {hypers + tensor.group * hyperCount,
                                       tables.at(facts, i * UPD_TENSOR_FACTS),
                                       scratch.at(reducedValues, i * reducedCount),
                                       before,
                                       row,
                                       after};
  }
}

void DevicePlan::fillCombinations(DeviceArena &tables, const DeviceArena &scratch) {
  const size_t firstTemporary = plan.firstTemporary;
  for (size_t i = 0; i < sweeps.size(); ++i) {
    const Launch &launch = sweeps[i];
    Combination *part = tables.host(launch.parts), *whole = tables.host(launch.wholes);
    ColumnCombination *column = tables.host(launch.columns);
    const SweepDomain &domain = domains.at(launch.domain);
    const auto stride = static_cast<int64_t>(launch.slots);
    for (size_t position = 0; position < list.size(); ++position) {
      const runtime::TensorShape shape = list[position].shape.of(plan.sweeps[i].over);
      const int64_t before = domain.leavesBefore(position);
      const int64_t leaves = domain.leavesBefore(position + 1) - before;
      for (size_t slot = 0; slot < launch.slots; ++slot) {
        const auto [kind, ofGroup, index] = reductions[i][slot];
        const bool isMax = kind == ReductionInterface::Kind::Max;
        double *values =
            scratch.at(launch.partials, static_cast<size_t>(before) * launch.slots + slot);
        double *result = ofGroup ? scratch.at(groupParts, position * groupReductions.size() + index)
                                 : scratch.at(reducedValues, position * reducedCount + index);
        if (leaves <= leavesOfPart) {
          *whole++ = {values, leaves, stride, result, isMax};
          continue;
        }
        for (int64_t begin = 0; begin < leaves; begin += leavesOfPart)
          *part++ = {values + begin * stride, std::min(leavesOfPart, leaves - begin), stride,
                     nullptr, isMax};
        *whole++ = {values, (leaves - 1) / leavesOfPart + 1, stride * leavesOfPart, result, isMax};
      }
      for (const ReductionInterface &reduction : plan.sweeps[i].reductions) {
        if (reduction.over != Extent::Column)
          continue;
        const size_t index = position * plan.temporaries().size() + reduction.into - firstTemporary;
        double *values = scratch.at(columnBlocks[index]);
        auto *result = reinterpret_cast<double *>(scratch.at(temporaries[index]));
        const int64_t blocks = shape.blocksPerBatch();
        for (int64_t batch = 0; batch < shape.batches; ++batch)
          for (int64_t first = 0; first < shape.columns; first += UPD_GPU_THREADS)
            *column++ = {values + batch * blocks * shape.columns + first,
                         result + batch * shape.columns + first,
                         std::min<int64_t>(UPD_GPU_THREADS, shape.columns - first),
                         blocks,
                         shape.columns,
                         reduction.kind == ReductionInterface::Kind::Max};
      }
    }
  }
}

GroupMember DevicePlan::groupMember(const DeviceArena &scratch, size_t position,
                                    size_t reduction) const {
  return {scratch.at(groupParts, position * groupReductions.size() + reduction),
          scratch.at(reducedValues, position * reducedCount + groupReductions[reduction]),
          scratch.at(rows, position * rowBytes()), kernels->interface.compute};
}

GroupCandidate DevicePlan::groupCandidate(const DeviceArena &scratch, size_t position,
                                          size_t scalar) const {
  return {scratch.at(nextScalarValues, position * nextScalars() + scalar),
          scratch.at(rows, position * rowBytes()), kernels->interface.compute};
}

ProbedTensor DevicePlan::probedTensor(const DeviceArena &tables, const DeviceArena &scratch,
                                      size_t position) const {
  return {
      tables.at(facts, position * UPD_TENSOR_FACTS),
      scratch.at(nextScalarValues, position * nextScalars() + plan.scalarStates.size()),
      list[position].param,
  };
}

Status DevicePlan::update(const Step &step) {
  if (!streamsChanged)
    return {};
  fillStreams(step.tables, step.scratch);
  streamsChanged = false;
  if (Status status = step.tables.upload(streamTable, step.stream); !status.ok())
    return status;
  for (const Launch &launch : sweeps)
    if (launch.ownStreams)
      if (Status status = step.tables.upload(launch.streams, step.stream); !status.ok())
        return status;
  if (!findAligned())
    return {};
  fillChunks(step.tables);
  for (const auto &[domain, table] : chunks)
    if (Status status = step.tables.upload(table, step.stream); !status.ok())
      return status;
  return {};
}

//===----------------------------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------------------------===//

/// Launches a kernel that takes a table and its length.
template <typename T>
static Status launchTable(const DevicePlan::Step &step, Kernel kernel, Table<T> table,
                          size_t perBlock) {
  return launchOver(step.device, kernel, step.tables.at(table), table.count, perBlock, step.stream);
}

Status DevicePlan::begin(const Step &step, const float *foundInf) const {
  if (list.empty())
    return {};
  BegunTensor *all = step.tables.at(begunTensors);
  auto count = static_cast<int64_t>(list.size());
  void *arguments[] = {&all, &count, &foundInf};
  return step.device.launch(step.engine.begin, step.device.blocksFor(list.size(), UPD_GPU_THREADS),
                            arguments, step.stream);
}

Status DevicePlan::commit(const Step &step) const {
  return launchTable(step, step.engine.commit, begunTensors, UPD_GPU_THREADS);
}

Status DevicePlan::launchChunks(const Step &step, const Launch &launch, upd_gpu_chunk *chunks,
                                int64_t count, void **streams, char *rows, double *partials,
                                upd_site *sites) {
  if (count == 0)
    return {};
  void *arguments[] = {&chunks, &count, &streams, &rows, &partials, &sites};
  const size_t perBlock = launch.byWarps ? UPD_GPU_THREADS / UPD_GPU_WARP_THREADS : 1;
  return step.device.launch(launch.kernel,
                            step.device.blocksFor(static_cast<size_t>(count), perBlock), arguments,
                            step.stream);
}

Status DevicePlan::runRows(const Step &step, const RowTables &all) const {
  for (const Launch &launch : sweeps) {
    const bool byLeaves = launch.domain.kind == SweepDomain::Kind::Elements;
    if (Status status = launchChunks(step, launch, byLeaves ? all.leafChunks : all.rowChunks,
                                     byLeaves ? all.leaves : all.rows, all.streams, all.tensorRows,
                                     nullptr, all.sites);
        !status.ok())
      return status;
  }
  return {};
}

/// Launches a kernel that takes a part of a table and its length.
template <typename T>
static Status launchPart(const DevicePlan::Step &step, Kernel kernel, Table<T> table, size_t begin,
                         size_t end, size_t perBlock) {
  return launchOver(step.device, kernel, step.tables.at(table, begin), end - begin, perBlock,
                    step.stream);
}

Status DevicePlan::launchSweep(const Step &step, const Launch &launch, Window window) {
  const SweepDomain &domain = domains.at(launch.domain);
  const auto [begin, end] = window;
  const auto first = static_cast<size_t>(domain.leavesBefore(begin));
  if (Status status = launchChunks(step, launch, step.tables.at(chunks.at(launch.domain), first),
                                   domain.leavesBefore(end) - domain.leavesBefore(begin),
                                   step.tables.at(launch.streams), step.scratch.at(rows),
                                   step.scratch.at(launch.partials, first * launch.slots),
                                   sitesOf(step.tables, launch.domain));
      !status.ok())
    return status;
  if (Status status = launchPart(step, step.engine.combine, launch.parts, launch.partsBefore[begin],
                                 launch.partsBefore[end], 1);
      !status.ok())
    return status;
  if (Status status = launchPart(step, step.engine.combine, launch.wholes, begin * launch.slots,
                                 end * launch.slots, 1);
      !status.ok())
    return status;
  return launchPart(step, step.engine.combineColumns, launch.columns, launch.columnsBefore[begin],
                    launch.columnsBefore[end], 1);
}

Status DevicePlan::launchStage(const Step &step, const runtime::StageInterface &stage,
                               Window window) {
  switch (stage.kind) {
  case runtime::StageInterface::Kind::Prologue:
    return launchPart(step, prologues[stage.index], prologueTensors, window.begin, window.end,
                      UPD_GPU_THREADS);
  case runtime::StageInterface::Kind::Sweep:
    return launchSweep(step, sweeps[stage.index], window);
  case runtime::StageInterface::Kind::Product:
    return launchProduct(step, stage.index, window);
  case runtime::StageInterface::Kind::Call:
    break; // `run` runs them
  }
  return {};
}

Status DevicePlan::run(const Step &step) {
  const size_t end = sectionEndFrom(nextStage, groupReductionsRun != groupReductionsCombined);
  for (const Window &window : windows)
    for (size_t stage = nextStage; stage < end;) {
      const size_t callsEnd = plan.callsEndFrom(stage);
      Status status = callsEnd == stage ? launchStage(step, plan.sequence[stage], window)
                                        : runCalls(step, stage, callsEnd, window);
      if (!status.ok())
        return status;
      stage = std::max(stage + 1, callsEnd);
    }
  for (; nextStage < end; ++nextStage)
    if (plan.sequence[nextStage].isSweep())
      for (const runtime::ScalarReduction &reduction : reductions[plan.sequence[nextStage].index])
        groupReductionsRun += reduction.ofGroup;
  return {};
}
