//===- DeviceOptimizer.cpp - An optimizer of tensors on a device ------------------------------===//

#include "runtime/gpu/DeviceOptimizer.h"

#include "runtime/base/DType.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/matrix/Lapack.h"
#include "runtime/optimizer/RowGradient.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

using namespace updraft::gpu;
using namespace updraft::runtime;

DeviceOptimizer::DeviceOptimizer(std::shared_ptr<Device> device, TensorDevice where,
                                 std::shared_ptr<const Kernels> kernelsToUse,
                                 const upd_pool &poolToUse)
    : Optimizer(std::move(kernelsToUse), where, poolToUse), gpu(std::move(device)),
      fills(gpu, DeviceArena::Use::Filled), fillsOfGraphs(gpu, DeviceArena::Use::Filled) {}

Status DeviceOptimizer::create(std::shared_ptr<Device> device, TensorDevice where,
                               std::shared_ptr<const Kernels> kernels, const upd_group *groups,
                               size_t groupCount, const upd_pool *pool,
                               std::unique_ptr<Optimizer> &result) {
  if (Status status = checkArguments(groups, groupCount, pool); !status.ok())
    return status;
  if (Status status = Lapack::loadFor(kernels->interface); !status.ok())
    return status;
  std::unique_ptr<DeviceOptimizer> optimizer(new DeviceOptimizer(
      std::move(device), where, std::move(kernels), pool ? *pool : ThreadPool::processHandle()));
  if (Status status = optimizer->addGroups(groups, groupCount); !status.ok())
    return status;
  if (Status status = optimizer->checkMatrices(); !status.ok())
    return status;
  if (const size_t count = optimizer->interface().probes.size(); count != 0) {
    const size_t rows = optimizer->probes->capacity();
    std::shared_ptr<void> shared;
    if (Status status = optimizer->gpu->allocateShared(ProbeRing::bytesFor(rows, count), shared);
        !status.ok())
      return status;
    optimizer->probes = std::make_unique<ProbeRing>(rows, count, std::move(shared));
  }
  if (Status status = EngineKernels::load(*optimizer->gpu, optimizer->engine); !status.ok())
    return status;
  if (Status status = DeviceStep::create(optimizer->gpu, optimizer->kernels, optimizer->pool,
                                         optimizer->current);
      !status.ok())
    return status;
  optimizer->progress.steps.resize(optimizer->paramCount());
  optimizer->progress.firsts.resize(optimizer->paramCount(), 1);
  optimizer->boundCounts.resize(optimizer->paramCount());
  optimizer->isPending.resize(optimizer->paramCount());
  optimizer->isListed.resize(optimizer->paramCount());
  optimizer->rowPositions.resize(optimizer->paramCount());
  const std::vector<PlanInterface> &plans = optimizer->interface().plans;
  optimizer->countsOnHost =
      std::any_of(plans.begin(), plans.end(),
                  [](const PlanInterface &plan) { return plan.hasHostConditions(); }) &&
      std::none_of(plans.begin(), plans.end(),
                   [](const PlanInterface &plan) { return plan.skips; });
  result = std::move(optimizer);
  return {};
}

/// Kernels count the elements of a row or column in 32 bits.
Status DeviceOptimizer::checkMatrices() const {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < params.size(); ++i) {
    const std::vector<SweepInterface> &sweeps = interface().plans[params[i].plan].sweeps;
    const bool usesRows =
        std::any_of(sweeps.begin(), sweeps.end(),
                    [](const SweepInterface &sweep) { return sweep.isMatrix || sweep.isBatches; });
    if (usesRows && std::max(params[i].shape.rows, params[i].shape.columns) > most)
      return {UPD_UNSUPPORTED,
              fmt::format("parameter `{}` is {}; a step on a GPU takes matrices of up to {} rows "
                          "and columns",
                          names[i], shapeText(params[i].layout), most)};
  }
  return {};
}

Status DeviceOptimizer::setStream(void *queue) {
  // A prepared step only works on its own stream: the new one may be captured.
  if (queue != stream)
    prepared = Prepared::Nothing;
  stream = queue;
  return {};
}

/// For devices that check accesses.
void DeviceOptimizer::lendMemory(const StepGradients &gradients) {
  std::vector<std::pair<const void *, size_t>> memory;
  for (size_t i = 0; i < params.size(); ++i) {
    const auto elements = static_cast<size_t>(params[i].layout.elements);
    memory.emplace_back(params[i].data, elements * sizeOf(interface().param));
    if (gradOf(i))
      memory.emplace_back(gradOf(i), elements * sizeOf(interface().grad));
    for (size_t j = 0; j < stateCount(); ++j)
      if (holds(i, j) && stateOrigins[slotOf(i, j)] == StateOrigin::Bound)
        memory.emplace_back(statePointers[slotOf(i, j)], stateBytes(i, j));
  }
  for (size_t i = 0; i < gradients.rowCount; ++i) {
    const upd_row_grad &own = gradients.rows[i];
    const int64_t elements = elementsOfRow(own, params[own.param].layout);
    memory.emplace_back(own.values.data,
                        own.index_count * static_cast<size_t>(elements) * sizeOf(interface().grad));
  }
  gpu->lend(std::move(memory));
}

void DeviceOptimizer::addTensor(size_t param, DeviceStep &to) {
  const Param &own = params[param];
  DevicePlan &list = to.plans()[planOf(param, to.isProbed())];
  const BoundCount &bound = boundCounts[param];
  const uint32_t position = list.add(
      {static_cast<uint32_t>(param), own.group, own.shape,
       paramNumbers.empty() ? param : paramNumbers[param], bound.data ? bound.data : countOf(param),
       bound.data ? bound.dtype : UPD_F64, firstOf(param), isListed[param] != 0});
  list.setStream(position, StreamIndex::Param, own.data);
  list.setStream(position, StreamIndex::Grad, gradOf(param));
  const std::vector<StreamInterface> &streams = list.streamInterfaces();
  for (size_t j = StreamIndex::FirstState; j < streams.size(); ++j)
    if (streams[j].state != StreamInterface::none)
      list.setStream(position, j, statePointers[slotOf(param, streams[j].state)]);
  for (size_t j = 0; j < list.scalarStates().size(); ++j)
    list.setScalar(position, j, statePointers[slotOf(param, list.scalarStates()[j])]);
  if (isListed[param])
    rowPositions[param] = position;
  else if (&to == current.get())
    plan.setPosition(param, position);
}

/// The ring, for kernels. Allocates the counter of its rows when it is needed first.
Status DeviceOptimizer::ringForDevice(ProbeRecord &ring) {
  if (!probeCounter.data())
    if (Status status = allocateStates(sizeof(uint64_t), probeCounter); !status.ok())
      return status;
  ring = {nullptr, reinterpret_cast<uint64_t *>(probeCounter.data()), probes->memory(),
          static_cast<int64_t>(probes->capacity()), static_cast<int64_t>(probes->probes())};
  return {};
}

Status DeviceOptimizer::build(DeviceStep &to, Stream setup, bool isProbed) {
  if (Status status = createStates(setup); !status.ok())
    return status;
  if (!progress.memory.data()) {
    if (Status status = allocateStates(2 * std::max<size_t>(params.size(), 1) * sizeof(double),
                                       progress.memory);
        !status.ok())
      return status;
    if (Status status = writeProgress(setup); !status.ok()) {
      progress.memory = {};
      return status;
    }
  }
  ProbeRecord ring;
  if (isProbed)
    if (Status status = ringForDevice(ring); !status.ok())
      return status;
  to.clear(groupCount(), isProbed ? &ring : nullptr);
  if (&to == current.get())
    plan.clearPositions(params.size());
  firstParams.clear();
  for (size_t i = 0; i < params.size(); ++i) {
    if (!takesPart(i))
      continue;
    addTensor(i, to);
    if (!isPending[i] && lacksStates(i))
      firstParams.push_back(static_cast<uint32_t>(i));
  }
  for (const HyperSource &source : hyperSources)
    to.setHyperSource(source.group, source.hyper, source.data, source.dtype);
  return to.finish(allHypers(), seed, setup);
}

/// The step has the same parameters as the last one.
Status DeviceOptimizer::updateStep() {
  for (uint32_t i : movedGrads())
    current->plans()[planOf(i, current->isProbed())].setStream(plan.positionOf(i),
                                                               StreamIndex::Grad, gradOf(i));
  for (size_t i = 0; i < groupCount(); ++i)
    if (Status status = current->setHypers(i, hypers.of(i), stream); !status.ok())
      return status;
  return {};
}

void DeviceOptimizer::listRows(const upd_row_grad *rowGrads, size_t rowGradCount) {
  for (const uint32_t param : listed)
    isListed[param] = 0;
  listed.clear();
  for (size_t i = 0; i < rowGradCount; ++i) {
    listed.push_back(static_cast<uint32_t>(rowGrads[i].param));
    isListed[rowGrads[i].param] = 1;
  }
  std::sort(listed.begin(), listed.end());
}

Status DeviceOptimizer::setRows(const upd_row_grad *rowGrads, size_t rowGradCount) {
  std::vector<std::vector<SteppedRows>> rows(interface().plans.size());
  for (size_t i = 0; i < rowGradCount; ++i) {
    const upd_row_grad &own = rowGrads[i];
    const Param &param = params[own.param];
    rows[param.plan].push_back({rowPositions[own.param], rowsOf(own, param.layout),
                                elementsOfRow(own, param.layout), own.indices,
                                static_cast<int64_t>(own.index_count), own.values.data});
  }
  return current->setRows(rows, stream);
}

/// A replayed graph runs nothing on the host.
Status DeviceOptimizer::checkCapture(bool isProbed) const {
  for (size_t i = 0; i < params.size(); ++i) {
    const PlanInterface &own = interface().plans[planOf(i, isProbed)];
    if (const CallInterface *call = own.hostCall(); call && takesPart(i))
      return {UPD_UNSUPPORTED,
              fmt::format("rule `{}` computes `{}` of parameter `{}` on the host, which can't be "
                          "captured in a graph; step outside of the graph, or give gradients of "
                          "parameters with fewer than two dimensions only",
                          interface().name, nameOf(call->function), names[i])};
  }
  return {};
}

/// The progress of all parameters, which decides about calls of the host. Empty if it isn't needed
/// or known.
std::vector<KnownProgress> DeviceOptimizer::knownProgress() const {
  std::vector<KnownProgress> known;
  if (!countsOnHost || !progress.isKnown || !captured.empty())
    return known;
  for (size_t i = 0; i < params.size(); ++i)
    known.push_back({!boundCounts[i].data, progress.steps[i], progress.firsts[i] != 0});
  return known;
}

Status DeviceOptimizer::prepareStep(const StepGradients &given) {
  prepared = Prepared::Nothing;
  StepGradients gradients = given;
  if (!gradients.hasWhole) {
    if (gradients.rowCount == 0) {
      prepared = Prepared::Rows; // none
      return {};
    }
    noGrads.resize(params.size());
    gradients.addresses = noGrads.data();
    gradients.count = noGrads.size();
  }
  if (Status status = checkWhole(); !status.ok())
    return status;
  bool isCaptured = false;
  if (Status status = gpu->isCaptured(stream, isCaptured); !status.ok())
    return status;
  if (isCaptured && gradients.rowCount != 0)
    return {UPD_UNSUPPORTED, "gradients of some rows are given while a graph is captured, but how "
                             "many rows there are differs from replay to replay; give gradients "
                             "of whole parameters, or step outside of the graph"};
  if (Status status = checkRowGradients(gradients); !status.ok())
    return status;
  bool samePlan;
  if (Status status = checkGradients(gradients, samePlan); !status.ok())
    return status;
  listRows(gradients.rows, gradients.rowCount);
  const bool isProbed = gradients.rowCount == 0 && isNextProbed();
  next = current.get();
  if (isCaptured) {
    if (Status status = checkCapture(isProbed); !status.ok())
      return status;
    // A graph has its own tables, which nothing writes after this, because steps outside of it and
    // other graphs have other gradients.
    Stream setup = nullptr;
    if (Status status = gpu->ownStream(setup); !status.ok())
      return status;
    std::unique_ptr<DeviceStep> made;
    if (Status status = DeviceStep::create(gpu, kernels, pool, made); !status.ok())
      return status;
    if (Status status = build(*made, setup, isProbed); !status.ok())
      return status;
    if (Status status = gpu->wait(setup); !status.ok())
      return status;
    captured.push_back(std::move(made));
    next = captured.back().get();
  } else {
    plan.discard();
    // After a step that may have been skipped, the device is asked once.
    if (countsOnHost && !foundInf && captured.empty())
      if (Status status = readProgress(); !status.ok())
        return status;
    if (Status status = renewStates(); !status.ok())
      return status;
    samePlan = samePlan && listed == plannedRows && current->isProbed() == isProbed;
    if (Status status = samePlan ? updateStep() : build(*current, stream, isProbed); !status.ok())
      return status;
    plannedRows = listed;
    if (!listed.empty())
      if (Status status = setRows(gradients.rows, gradients.rowCount); !status.ok())
        return status;
    acceptGradients();
  }
  if (gpu->looksAtAccesses())
    lendMemory(gradients);
  prepared = Prepared::Plan;
  return {};
}

Status DeviceOptimizer::applyStep(const upd_step_observer *) {
  const Prepared what = std::exchange(prepared, Prepared::Nothing);
  if (what == Prepared::Rows)
    return {};
  if (what != Prepared::Plan)
    return invalidArgument("no step is prepared: none was, it was refused or applied, or the "
                           "optimizer has changed since");
  ++appliedSteps;
  const std::vector<KnownProgress> known = knownProgress();
  // Also if the step fails half-way.
  progress.isKnown = params.empty();
  for (uint32_t param : firstParams) {
    isPending[param] = 1;
    pending.push_back(param);
  }
  firstParams.clear();
  if (Status status = next->run(foundInf, known, stream); !status.ok())
    return status;
  if (next == current.get())
    plan.accept();
  if (known.empty() || foundInf)
    return {};
  for (size_t i = 0; i < params.size(); ++i)
    if (takesPart(i)) {
      progress.steps[i] = std::min(progress.steps[i] + 1, maxStep);
      progress.firsts[i] = 0;
    }
  progress.isKnown = true;
  return {};
}
