//===- DeviceOptimizer.cpp - An optimizer of tensors on a device ------------------------------===//

#include "runtime/gpu/DeviceOptimizer.h"

#include "runtime/base/DType.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/optimizer/FloatEnvironment.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

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
  std::unique_ptr<DeviceOptimizer> optimizer(new DeviceOptimizer(
      std::move(device), where, std::move(kernels), pool ? *pool : ThreadPool::processHandle()));
  if (Status status = optimizer->addGroups(groups, groupCount); !status.ok())
    return status;
  if (Status status = EngineKernels::load(*optimizer->gpu, optimizer->engine); !status.ok())
    return status;
  if (Status status = DeviceStep::create(optimizer->gpu, optimizer->kernels, optimizer->current);
      !status.ok())
    return status;
  optimizer->progress.steps.resize(optimizer->paramCount());
  optimizer->progress.firsts.resize(optimizer->paramCount(), 1);
  optimizer->boundCounts.resize(optimizer->paramCount());
  optimizer->isPending.resize(optimizer->paramCount());
  result = std::move(optimizer);
  return {};
}

Status DeviceOptimizer::setStream(void *queue) {
  // What is prepared is for the stream that it was prepared on: this one may be captured.
  if (queue != stream)
    prepared = Prepared::Nothing;
  stream = queue;
  return {};
}

//===----------------------------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------------------------===//

Status DeviceOptimizer::allocateStates(size_t bytes, StateArena &memory) {
  void *data = nullptr;
  if (Status status = gpu->allocate(bytes, &data); !status.ok())
    return status;
  memory = StateArena(data, bytes, [kept = gpu](char *own, size_t) { kept->release(own); });
  bool isCaptured = false;
  if (Status status = gpu->isCaptured(stream, isCaptured); !status.ok())
    return status;
  Stream setup = stream;
  if (isCaptured)
    if (Status status = gpu->ownStream(setup); !status.ok())
      return status;
  return gpu->zero(data, bytes, setup);
}

Status DeviceOptimizer::readMemory(void *to, const void *from, size_t bytes) const {
  return gpu->read(to, from, bytes, stream);
}

Status DeviceOptimizer::writeMemory(void *to, const void *from, size_t bytes) {
  return gpu->write(to, from, bytes, stream);
}

/// For a device that looks at accesses.
void DeviceOptimizer::lendMemory(const upd_tensor *grads) {
  std::vector<std::pair<const void *, size_t>> memory;
  for (size_t i = 0; i < params.size(); ++i) {
    const auto elements = static_cast<size_t>(params[i].layout.elements);
    memory.emplace_back(params[i].data, elements * sizeOf(interface().param));
    if (!isAbsent(grads[i]))
      memory.emplace_back(grads[i].data, elements * sizeOf(interface().grad));
    for (size_t j = 0; j < stateCount(); ++j)
      if (holds(i, j) && stateOrigins[slotOf(i, j)] == StateOrigin::Bound)
        memory.emplace_back(statePointers[slotOf(i, j)], stateBytes(i, j));
  }
  gpu->lend(std::move(memory));
}

//===----------------------------------------------------------------------------------------===//
// Step counts
//===----------------------------------------------------------------------------------------===//

double *DeviceOptimizer::countOf(size_t param) const {
  return reinterpret_cast<double *>(progress.memory.data()) + param;
}

double *DeviceOptimizer::firstOf(size_t param) const { return countOf(params.size() + param); }

/// Of all parameters, as the host knows them and their states.
Status DeviceOptimizer::writeProgress(Stream setup) {
  const size_t count = params.size();
  std::vector<double> values(2 * count);
  for (size_t i = 0; i < count; ++i) {
    progress.firsts[i] = ownsStates(i) ? !hasStates(i) : progress.steps[i] == 0;
    values[i] = static_cast<double>(progress.steps[i]);
    values[count + i] = progress.firsts[i];
  }
  return gpu->write(progress.memory.data(), values.data(), values.size() * sizeof(double), setup);
}

Status DeviceOptimizer::writeFirst(size_t param) {
  progress.firsts[param] = ownsStates(param) ? !hasStates(param) : progress.steps[param] == 0;
  if (!progress.memory.data())
    return {};
  const double first = progress.firsts[param];
  return gpu->write(firstOf(param), &first, sizeof(first), stream);
}

Status DeviceOptimizer::readProgress() {
  const size_t count = params.size();
  // A graph counts whenever it is replayed.
  if ((progress.isKnown && captured.empty()) || !progress.memory.data())
    return {};
  std::vector<double> values(2 * count);
  if (Status status =
          readMemory(values.data(), progress.memory.data(), values.size() * sizeof(double));
      !status.ok())
    return status;
  for (size_t i = 0; i < count; ++i) {
    if (!boundCounts[i].data)
      progress.steps[i] = static_cast<int64_t>(values[i]);
    progress.firsts[i] = values[count + i] != 0;
  }
  progress.isKnown = true;
  return {};
}

/// Of the parameters [begin, end): whoever bound these may have changed them. Those that lie one
/// after the other, as torch's do, are read at once: each read waits.
Status DeviceOptimizer::readBoundCounts(size_t begin, size_t end) {
  std::vector<char> elements;
  while (begin < end) {
    const BoundCount &first = boundCounts[begin];
    if (!first.data) {
      ++begin;
      continue;
    }
    const size_t bytes = sizeOf(first.dtype);
    auto continues = [&](size_t param) {
      return boundCounts[param].dtype == first.dtype &&
             boundCounts[param].data == static_cast<char *>(first.data) + (param - begin) * bytes;
    };
    size_t next = begin + 1;
    while (next < end && continues(next))
      ++next;
    elements.resize((next - begin) * bytes);
    if (Status status = readMemory(elements.data(), first.data, elements.size()); !status.ok())
      return status;
    for (const char *element = elements.data(); begin < next; ++begin, element += bytes) {
      const double steps = loadExact(boundCounts[begin].dtype, element);
      if (!(steps >= 0 && steps <= 0x1p53 && steps == std::floor(steps)))
        return invalidArgument(fmt::format("the step count of parameter `{}` is {}; it is a whole "
                                           "number from 0 to 2^53",
                                           names[begin], steps));
      progress.steps[begin] = static_cast<int64_t>(steps);
    }
  }
  return {};
}

Status DeviceOptimizer::settleStates() {
  if (pending.empty())
    return {};
  if (Status status = readProgress(); !status.ok())
    return status;
  std::erase_if(pending, [&](uint32_t param) {
    if (progress.firsts[param])
      return false;
    acceptStates(param);
    isPending[param] = 0;
    return true;
  });
  return {};
}

Status DeviceOptimizer::replaceSteps(std::vector<int64_t> counts) {
  progress.steps = std::move(counts);
  progress.isKnown = true;
  pending.clear();
  std::fill(isPending.begin(), isPending.end(), 0);
  for (size_t i = 0; i < params.size(); ++i)
    if (boundCounts[i].data)
      if (Status status = writeCount(i); !status.ok())
        return status;
  return progress.memory.data() ? writeProgress(stream) : Status();
}

/// To where the device counts on.
Status DeviceOptimizer::writeCount(size_t param) {
  const BoundCount &bound = boundCounts[param];
  if (!bound.data && !progress.memory.data())
    return {};
  const upd_dtype dtype = bound.data ? bound.dtype : UPD_F64;
  double element = 0;
  storeRounded(dtype, static_cast<double>(progress.steps[param]), &element);
  return gpu->write(bound.data ? bound.data : countOf(param), &element, sizeOf(dtype), stream);
}

Status DeviceOptimizer::statesBound(size_t param) { return writeFirst(param); }

Status DeviceOptimizer::getStep(size_t param, int64_t &step) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = readProgress(); !status.ok())
    return status;
  if (Status status = readBoundCounts(param, param + 1); !status.ok())
    return status;
  step = progress.steps[param];
  return {};
}

Status DeviceOptimizer::getSteps(int64_t *result, size_t count) {
  if (Status status = checkAskedSteps(count); !status.ok())
    return status;
  if (Status status = readProgress(); !status.ok())
    return status;
  if (Status status = readBoundCounts(0, count); !status.ok())
    return status;
  std::copy(progress.steps.begin(), progress.steps.end(), result);
  return {};
}

Status DeviceOptimizer::setStep(size_t param, int64_t step) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = checkStepCount(step); !status.ok())
    return status;
  if (Status status = settleStates(); !status.ok())
    return status;
  if (Status status = readProgress(); !status.ok())
    return status;
  progress.steps[param] = step;
  prepared = Prepared::Nothing;
  if (Status status = writeCount(param); !status.ok())
    return status;
  return writeFirst(param);
}

Status DeviceOptimizer::bindStep(size_t param, const upd_tensor &count) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  const std::string subject = fmt::format("the step count of parameter `{}`", names[param]);
  if (numberOf(count.dtype) != UPD_F32 && numberOf(count.dtype) != UPD_F64)
    return invalidArgument(fmt::format("{} is neither f32 nor f64", subject));
  if (Status status = checkNumber(count, subject); !status.ok())
    return status;
  if (Status status = settleStates(); !status.ok())
    return status;
  const BoundCount before = boundCounts[param];
  boundCounts[param] = {count.data, count.dtype};
  if (Status status = readBoundCounts(param, param + 1); !status.ok()) {
    boundCounts[param] = before;
    return status;
  }
  discardPlan();
  return writeFirst(param);
}

//===----------------------------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------------------------===//

Status DeviceOptimizer::fill(const std::vector<Fill> &all, Stream setup) {
  if (all.empty())
    return {};
  // The other stream may still read what was written last.
  DeviceArena &arena = setup == stream ? fills : fillsOfGraphs;
  arena.clear();
  const Table<Fill> table = arena.reserve<Fill>(all.size());
  if (Status status = arena.allocate(); !status.ok())
    return status;
  std::copy(all.begin(), all.end(), arena.host(table));
  if (Status status = arena.upload(setup); !status.ok())
    return status;
  return launchOver(*gpu, engine.fill, arena.at(table), table.count, 1, setup);
}

/// Adds what fills a state with the value that it starts from.
void DeviceOptimizer::addFills(size_t param, size_t state, void *data, const InitialValues &initial,
                               std::vector<Fill> &to) const {
  constexpr int64_t elementsOfFill = int64_t(1) << 16;
  const StateInterface &found = interface().states[state];
  const auto bytes = static_cast<int64_t>(sizeOf(found.dtype));
  uint64_t value = 0;
  initial.fill(params[param].group, state, &value, 0, 1);
  const int64_t count = params[param].shape.count(found.over);
  for (int64_t begin = 0; begin < count; begin += elementsOfFill)
    to.push_back({static_cast<char *>(data) + begin * bytes,
                  std::min(elementsOfFill, count - begin), value, bytes});
}

InitialValues DeviceOptimizer::initialValues() const {
  InitialValues initial;
  DefaultFloatEnvironment environment;
  initial.evaluate(*kernels, hypers);
  return initial;
}

/// States with memory from a step that was skipped, or not applied, start from what the
/// hyperparameters are now, if that has changed. Whether it was skipped is waited for then.
Status DeviceOptimizer::renewStates() {
  if (!filledValues)
    return {};
  InitialValues initial = initialValues();
  std::vector<char> changed; // by group and state
  for (uint32_t i = 0; i < groupCount(); ++i)
    for (size_t j = 0; j < stateCount(); ++j)
      changed.push_back(std::bit_cast<uint64_t>(initial.value(i, j)) !=
                        std::bit_cast<uint64_t>(filledValues->value(i, j)));
  if (std::find(changed.begin(), changed.end(), 1) == changed.end())
    return {};
  auto isToRenew = [&](size_t param, size_t state) {
    const size_t slot = slotOf(param, state);
    return changed[params[param].group * stateCount() + state] && holds(param, state) &&
           statePointers[slot] && stateOrigins[slot] == StateOrigin::None;
  };
  bool anyToRenew = false;
  for (size_t i = 0; i < params.size() && !anyToRenew; ++i)
    for (size_t j = 0; j < stateCount(); ++j)
      anyToRenew |= isToRenew(i, j);
  if (!anyToRenew)
    return {};
  if (Status status = settleStates(); !status.ok())
    return status;
  std::vector<Fill> wanted;
  for (size_t j = 0; j < stateCount(); ++j)
    for (size_t i = 0; i < params.size(); ++i)
      if (isToRenew(i, j))
        addFills(i, j, statePointers[slotOf(i, j)], initial, wanted);
  if (Status status = fill(wanted, stream); !status.ok())
    return status;
  filledValues = std::move(initial);
  return {};
}

/// Memory for the states of the parameters with a gradient that have none, all in one piece, with
/// the values that they start from.
Status DeviceOptimizer::createStates(const upd_tensor *grads, Stream setup) {
  struct Missing {
    size_t param, state;
  };
  std::vector<Missing> missing;
  size_t total = 0;
  auto isListed = [&](size_t param, size_t state) {
    return isShared(state) && !missing.empty() && missing.back().state == state &&
           slotOf(missing.back().param, state) == slotOf(param, state);
  };
  for (size_t j = 0; j < stateCount(); ++j)
    for (size_t i = 0; i < params.size(); ++i)
      if (!isAbsent(grads[i]) && isOf(i, j) && !statePointers[slotOf(i, j)] &&
          stateBytes(i, j) != 0 && !isListed(i, j)) {
        missing.push_back({i, j});
        total += alignedBytes(stateBytes(i, j));
      }
  if (missing.empty())
    return {};
  StateArena arena;
  if (Status status = allocateArena(total, arena); !status.ok())
    return status;
  InitialValues initial = initialValues();
  char *memory = arena.data();
  std::vector<Fill> wanted;
  for (const auto [param, state] : missing) {
    if (!initial.isZero(params[param].group, state))
      addFills(param, state, memory, initial, wanted);
    memory += alignedBytes(stateBytes(param, state));
  }
  if (Status status = fill(wanted, setup); !status.ok())
    return status;
  memory = arena.data();
  for (const auto [param, state] : missing) {
    statePointers[slotOf(param, state)] = memory;
    memory += alignedBytes(stateBytes(param, state));
  }
  keepArena(std::move(arena));
  // Else those that steps outside of the graph have filled are to be renewed first.
  if (!filledValues || setup == stream)
    filledValues = std::move(initial);
  return {};
}

void DeviceOptimizer::addTensor(size_t param, void *grad, DeviceStep &to) {
  const Param &own = params[param];
  DevicePlan &list = to.plans()[own.plan];
  const BoundCount &bound = boundCounts[param];
  const uint32_t position = list.add({static_cast<uint32_t>(param), own.group, own.shape,
                                      paramNumbers.empty() ? param : paramNumbers[param],
                                      bound.data ? bound.data : countOf(param),
                                      bound.data ? bound.dtype : UPD_F64, firstOf(param)});
  list.setStream(position, StreamIndex::Param, own.data);
  list.setStream(position, StreamIndex::Grad, grad);
  const std::vector<StreamInterface> &streams = list.streamInterfaces();
  for (size_t j = StreamIndex::FirstState; j < streams.size(); ++j)
    if (streams[j].state != StreamInterface::none)
      list.setStream(position, j, statePointers[slotOf(param, streams[j].state)]);
  for (size_t j = 0; j < list.scalarStates().size(); ++j)
    list.setScalar(position, j, statePointers[slotOf(param, list.scalarStates()[j])]);
  if (&to == current.get())
    plan.setPosition(param, position);
}

/// Of its own, or of its group.
bool DeviceOptimizer::lacksStates(size_t param) const {
  for (size_t j = 0; j < stateCount(); ++j)
    if (isOf(param, j) && stateOrigins[slotOf(param, j)] == StateOrigin::None)
      return true;
  return false;
}

Status DeviceOptimizer::build(const upd_tensor *grads, DeviceStep &to, Stream setup) {
  if (Status status = createStates(grads, setup); !status.ok())
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
  to.clear(groupCount());
  if (&to == current.get())
    plan.clearPositions(params.size());
  firstParams.clear();
  for (size_t i = 0; i < params.size(); ++i) {
    if (isAbsent(grads[i]))
      continue;
    addTensor(i, grads[i].data, to);
    if (!isPending[i] && lacksStates(i))
      firstParams.push_back(static_cast<uint32_t>(i));
  }
  for (const HyperSource &source : hyperSources)
    to.setHyperSource(source.group, source.hyper, source.data, source.dtype);
  std::vector<double> values;
  for (size_t i = 0; i < groupCount(); ++i)
    values.insert(values.end(), hypers.of(i), hypers.of(i) + interface().hypers.size());
  return to.finish(values, seed, setup);
}

/// Of the same parameters as the last one.
Status DeviceOptimizer::updateStep(const upd_tensor *grads) {
  for (uint32_t i : movedGrads())
    current->plans()[params[i].plan].setStream(plan.positionOf(i), StreamIndex::Grad,
                                               grads[i].data);
  for (size_t i = 0; i < groupCount(); ++i)
    if (Status status = current->setHypers(i, hypers.of(i), stream); !status.ok())
      return status;
  return {};
}

Status DeviceOptimizer::prepare(const upd_tensor *grads, size_t gradCount) {
  prepared = Prepared::Nothing;
  bool samePlan;
  if (Status status = checkGradients(grads, gradCount, samePlan); !status.ok())
    return status;
  bool isCaptured = false;
  if (Status status = gpu->isCaptured(stream, isCaptured); !status.ok())
    return status;
  next = current.get();
  if (isCaptured) {
    // A graph has tables of its own, which nothing writes after this: steps outside of it, and what
    // else is captured, have other gradients.
    Stream setup = nullptr;
    if (Status status = gpu->ownStream(setup); !status.ok())
      return status;
    std::unique_ptr<DeviceStep> made;
    if (Status status = DeviceStep::create(gpu, kernels, made); !status.ok())
      return status;
    if (Status status = build(grads, *made, setup); !status.ok())
      return status;
    if (Status status = gpu->wait(setup); !status.ok())
      return status;
    captured.push_back(std::move(made));
    next = captured.back().get();
  } else {
    const bool isBuilt = samePlan;
    plan.discard();
    if (Status status = renewStates(); !status.ok())
      return status;
    if (Status status = isBuilt ? updateStep(grads) : build(grads, *current, stream); !status.ok())
      return status;
    acceptGradients(grads);
  }
  if (gpu->looksAtAccesses())
    lendMemory(grads);
  prepared = Prepared::Plan;
  return {};
}

Status DeviceOptimizer::apply() {
  const Prepared what = std::exchange(prepared, Prepared::Nothing);
  if (what == Prepared::Rows)
    return {};
  if (what != Prepared::Plan)
    return invalidArgument("no step is prepared: none was, it was refused or applied, or the "
                           "optimizer has changed since");
  // Also of a step that fails half-way.
  progress.isKnown = params.empty();
  for (uint32_t param : firstParams) {
    isPending[param] = 1;
    pending.push_back(param);
  }
  firstParams.clear();
  if (Status status = next->run(foundInf, stream); !status.ok())
    return status;
  if (next == current.get())
    plan.accept();
  return {};
}

Status DeviceOptimizer::step(const upd_tensor *grads, size_t gradCount) {
  if (Status status = prepare(grads, gradCount); !status.ok())
    return status;
  return apply();
}

Status DeviceOptimizer::prepareRows(const upd_tensor *grads, size_t gradCount,
                                    const upd_row_grad *rowGrads, size_t rowGradCount) {
  prepared = Prepared::Nothing;
  if (rowGradCount != 0)
    return {UPD_UNSUPPORTED,
            fmt::format("gradients of some rows are for parameters on the CPU, and these are on "
                        "{}; give gradients of whole parameters",
                        device.text())};
  if (grads || gradCount != 0)
    return prepare(grads, gradCount);
  prepared = Prepared::Rows; // none
  return {};
}

Status DeviceOptimizer::stepRows(const upd_tensor *grads, size_t gradCount,
                                 const upd_row_grad *rowGrads, size_t rowGradCount) {
  if (Status status = prepareRows(grads, gradCount, rowGrads, rowGradCount); !status.ok())
    return status;
  return apply();
}
