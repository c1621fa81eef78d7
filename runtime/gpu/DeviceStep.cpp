//===- DeviceStep.cpp - A step of all parameters on a device ----------------------------------===//

#include "runtime/gpu/DeviceStep.h"

#include <algorithm>

using namespace updraft::gpu;
using updraft::runtime::Extent;
using updraft::runtime::ReductionInterface;
using updraft::runtime::StateInterface;
using updraft::runtime::Status;

Status EngineKernels::load(Device &device, EngineKernels &kernels) {
  if (Status status = device.loadEngine(kernels.module); !status.ok())
    return status;
#define UPD_ENGINE_KERNEL(member, name)                                                            \
  if (Status status = kernels.module->find(#name, kernels.member); !status.ok())                   \
    return status;
#include "runtime/kernels/EngineKernels.def"
  return {};
}

DeviceStep::DeviceStep(std::shared_ptr<Device> deviceToUse,
                       std::shared_ptr<const runtime::Kernels> kernelsToUse,
                       const upd_pool &poolToUse)
    : device(std::move(deviceToUse)), kernels(std::move(kernelsToUse)), pool(poolToUse),
      tables(device, DeviceArena::Use::Filled), scratch(device, DeviceArena::Use::Scratch) {
  for (size_t i = 0; i < kernels->interface.plans.size(); ++i)
    rowsOfPlans.emplace_back(device, planList.emplace_back(kernels, i));
  const std::vector<StateInterface> &states = kernels->interface.states;
  for (uint32_t i = 0; i < states.size(); ++i)
    if (states[i].over == Extent::Group)
      groupStates.push_back(i);
}

Status DeviceStep::create(std::shared_ptr<Device> device,
                          std::shared_ptr<const runtime::Kernels> kernels, const upd_pool &pool,
                          std::unique_ptr<DeviceStep> &result) {
  std::unique_ptr<DeviceStep> step(new DeviceStep(std::move(device), std::move(kernels), pool));
  if (Status status = step->device->load(step->kernels->gpu, step->module); !status.ok())
    return status;
  if (Status status = EngineKernels::load(*step->device, step->engine); !status.ok())
    return status;
  for (DevicePlan &plan : step->planList)
    if (Status status = plan.load(*step->module); !status.ok())
      return status;
  result = std::move(step);
  return {};
}

void DeviceStep::clear(size_t groups, const ProbeRecord *ring) {
  groupCount = groups;
  probed = ring != nullptr;
  ringOfProbes = ring ? *ring : ProbeRecord{};
  const runtime::RuleInterface &interface = kernels->interface;
  groupReductions = interface.plans[probed ? interface.probedPlanOf(0) : 0].groupReductions();
  sources.clear();
  for (DevicePlan &plan : planList)
    plan.clear();
  for (DeviceRows &rows : rowsOfPlans)
    rows.clear();
}

//===----------------------------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------------------------===//

Status DeviceStep::finish(const std::vector<double> &hypers, uint64_t seed, Stream stream) {
  groupSizes.assign(groupCount, 0);
  for (const DevicePlan &plan : planList)
    for (const SteppedTensor &tensor : plan.tensors())
      groupSizes[tensor.group] += tensor.shape.elements();
  tables.clear();
  scratch.clear();
  hyperTable = tables.reserve<double>(hypers.size());
  sourceTable = tables.reserve<HyperSource>(sources.size());
  for (DevicePlan &plan : planList)
    if (Status status = plan.reserve(tables, scratch, device->matrixBytes(), pool); !status.ok())
      return status;
  orderGroups();
  reserveGroups();
  reserveProbes();
  if (Status status = tables.allocate(); !status.ok())
    return status;
  if (Status status = scratch.allocate(); !status.ok())
    return status;
  std::copy(hypers.begin(), hypers.end(), tables.host(hyperTable));
  for (DevicePlan &plan : planList)
    plan.fill(tables, scratch, tables.at(hyperTable), groupSizes, seed);
  fillGroups();
  fillProbes();
  HyperSource *next = tables.host(sourceTable);
  for (const auto &[place, source] : sources)
    *next++ = {tables.at(hyperTable, place), source.from, source.dtype};
  if (Status status = tables.upload(stream); !status.ok())
    return status;
  // A sweep may precede the first prologue.
  return scratch.zero(stream);
}

void DeviceStep::orderGroups() {
  members.assign(groupCount, {});
  if (groupReductions.empty() && groupStates.empty())
    return;
  for (uint32_t i = 0; i < planList.size(); ++i)
    for (uint32_t position = 0; position < planList[i].tensors().size(); ++position)
      members[planList[i].tensors()[position].group].push_back({i, position});
  auto paramOf = [&](const Member &member) {
    return planList[member.plan].tensors()[member.position].param;
  };
  for (std::vector<Member> &ofGroup : members)
    std::sort(ofGroup.begin(), ofGroup.end(),
              [&](const Member &a, const Member &b) { return paramOf(a) < paramOf(b); });
}

void DeviceStep::reserveGroups() {
  memberTables.clear();
  combinations.clear();
  size_t most = 0;
  for (size_t i = 0; i < groupReductions.size(); ++i) {
    for (const std::vector<Member> &ofGroup : members) {
      memberTables.push_back(tables.reserve<GroupMember>(ofGroup.size()));
      most = std::max(most, ofGroup.size());
    }
    combinations.push_back(tables.reserve<GroupCombination>(groupCount));
  }
  groupScratch = scratch.reserve<double>(most * groupCount);
  candidates.clear();
  for (size_t i = 0; i < groupStates.size(); ++i)
    for (const std::vector<Member> &ofGroup : members)
      candidates.push_back(tables.reserve<GroupCandidate>(ofGroup.size()));
  groupCommits = tables.reserve<GroupCommit>(groupStates.size() * groupCount);
}

void DeviceStep::fillGroups() {
  const size_t most = groupCount == 0 ? 0 : groupScratch.count / groupCount;
  for (size_t i = 0; i < groupReductions.size(); ++i)
    for (size_t group = 0; group < groupCount; ++group) {
      const Table<GroupMember> table = memberTables[i * groupCount + group];
      for (size_t j = 0; j < table.count; ++j) {
        const auto [plan, position] = members[group][j];
        tables.host(table)[j] = planList[plan].groupMember(scratch, position, i);
      }
      tables.host(combinations[i])[group] = {tables.at(table), static_cast<int64_t>(table.count),
                                             scratch.at(groupScratch, group * most),
                                             groupReductions[i] == ReductionInterface::Kind::Max};
    }
  for (size_t i = 0; i < groupStates.size(); ++i)
    for (size_t group = 0; group < groupCount; ++group) {
      const Table<GroupCandidate> table = candidates[i * groupCount + group];
      GroupCommit &commit = tables.host(groupCommits)[i * groupCount + group];
      commit = {tables.at(table), 0, nullptr, kernels->interface.states[groupStates[i]].dtype};
      for (const auto [plan, position] : members[group]) {
        const std::vector<uint32_t> &scalars = planList[plan].scalarStates();
        const auto scalar = std::find(scalars.begin(), scalars.end(), groupStates[i]);
        if (scalar == scalars.end())
          continue;
        const auto index = static_cast<size_t>(scalar - scalars.begin());
        tables.host(table)[commit.count++] =
            planList[plan].groupCandidate(scratch, position, index);
        commit.to = planList[plan].scalar(position, index);
      }
    }
}

void DeviceStep::reserveProbes() {
  probedMembers.clear();
  for (uint32_t i = 0; i < planList.size() && probed; ++i)
    for (uint32_t position = 0; position < planList[i].tensors().size(); ++position)
      probedMembers.push_back({i, position});
  std::sort(probedMembers.begin(), probedMembers.end(), [&](const Member &a, const Member &b) {
    return planList[a.plan].tensors()[a.position].param <
           planList[b.plan].tensors()[b.position].param;
  });
  probedTable = tables.reserve<ProbedTensor>(probedMembers.size());
  recordTable = tables.reserve<ProbeRecord>(probed ? 1 : 0);
}

void DeviceStep::fillProbes() {
  if (!probed)
    return;
  for (size_t i = 0; i < probedMembers.size(); ++i) {
    const auto [plan, position] = probedMembers[i];
    tables.host(probedTable)[i] = planList[plan].probedTensor(tables, scratch, position);
  }
  ProbeRecord &record = *tables.host(recordTable);
  record = ringOfProbes;
  record.tensors = tables.at(probedTable);
}

Status DeviceStep::recordProbes(const float *foundInf, Stream stream) {
  ProbeRecord *record = tables.at(recordTable);
  auto count = static_cast<int64_t>(probedMembers.size());
  if (count == 0)
    return {};
  void *arguments[] = {&record, &count, &foundInf};
  if (Status status = device->launch(engine.recordProbes,
                                     device->blocksFor(probedMembers.size(), UPD_GPU_THREADS),
                                     arguments, stream);
      !status.ok())
    return status;
  return device->launch(engine.publishProbes, 1, arguments, stream);
}

Status DeviceStep::setRows(const std::vector<std::vector<SteppedRows>> &rows, Stream stream) {
  for (size_t i = 0; i < rowsOfPlans.size(); ++i)
    if (Status status = rowsOfPlans[i].set(rows[i], tables, scratch, stream); !status.ok())
      return status;
  return {};
}

Status DeviceStep::setHypers(size_t group, const double *values, Stream stream) {
  const size_t count = kernels->interface.hypers.size();
  double *own = tables.host(hyperTable) + group * count;
  if (std::equal(own, own + count, values))
    return {};
  std::copy(values, values + count, own);
  return device->write(tables.at(hyperTable, group * count), own, count * sizeof(double), stream);
}

void DeviceStep::setHyperSource(size_t group, size_t hyper, const void *data, upd_dtype dtype) {
  sources[group * kernels->interface.hypers.size() + hyper] = {nullptr, data, dtype};
}

//===----------------------------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------------------------===//

Status DeviceStep::run(const float *foundInf, const std::vector<KnownProgress> &progress,
                       Stream stream) {
  const DevicePlan::Step step{*device, engine, tables, scratch, pool, stream};
  if (Status status = launchOver(*device, engine.readHypers, tables.at(sourceTable),
                                 sourceTable.count, UPD_GPU_THREADS, stream);
      !status.ok())
    return status;
  for (DevicePlan &plan : planList) {
    if (Status status = plan.update(step); !status.ok())
      return status;
    plan.restart();
    // The device reads sources itself, and conditions may depend on them.
    if (!progress.empty() && sources.empty())
      plan.evaluateConditions(tables, tables.host(hyperTable), progress);
    if (Status status = plan.begin(step, foundInf); !status.ok())
      return status;
  }
  for (combined = 0;;) {
    bool atEnd = true;
    for (DevicePlan &plan : planList) {
      if (plan.tensors().empty())
        continue;
      if (Status status = plan.run(step); !status.ok())
        return status;
      atEnd &= plan.isAtEnd();
    }
    if (atEnd)
      break;
    // A plan only waits for reductions up to its own stage, so the plan that is furthest behind can
    // continue.
    if (Status status = combineGroups(stream); !status.ok())
      return status;
  }
  for (const DeviceRows &rows : rowsOfPlans)
    if (Status status = rows.run(step); !status.ok())
      return status;
  if (probed)
    if (Status status = recordProbes(foundInf, stream); !status.ok())
      return status;
  for (DevicePlan &plan : planList)
    if (Status status = plan.commit(step); !status.ok())
      return status;
  return launchOver(*device, engine.commitGroups, tables.at(groupCommits), groupCommits.count, 1,
                    stream);
}

Status DeviceStep::combineGroups(Stream stream) {
  size_t ready = groupReductions.size();
  for (const DevicePlan &plan : planList)
    if (!plan.tensors().empty())
      ready = std::min(ready, plan.groupReductionsDone());
  for (; combined < ready; ++combined) {
    const Table<GroupCombination> groups = combinations[combined];
    if (Status status =
            launchOver(*device, engine.combineGroups, tables.at(groups), groups.count, 1, stream);
        !status.ok())
      return status;
  }
  for (DevicePlan &plan : planList)
    plan.setCombined(combined);
  return {};
}
