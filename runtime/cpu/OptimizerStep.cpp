//===- OptimizerStep.cpp - One step of an optimizer -------------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/cpu/FloatEnvironment.h"
#include "runtime/cpu/Optimizer.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace updraft::runtime;

static bool isAbsent(const upd_tensor &grad) { return !grad.data && grad.rank == -1; }

Optimizer::GradientScan Optimizer::scanGradients(const upd_tensor *grads, size_t begin,
                                                 size_t end) const {
  GradientScan scan;
  const upd_dtype dtype = interface().grad;
  const uintptr_t alignmentMask = sizeOf(dtype) - 1;
  const bool planned = plan.usable();
  for (size_t i = begin; i < end; ++i) {
    const upd_tensor &grad = grads[i];
    const bool absent = isAbsent(grad);
    if (planned && absent != (plan.positionOf(i) == StepPlan::absent))
      scan.samePlan = false;
    if (absent)
      continue;
    const ExpectedGrad &expected = expectedGrads[i];
    const bool isVector = expected.rank == 1;
    const bool fits = isVector ? grad.rank == 1 && grad.shape && *grad.shape == expected.size &&
                                     (!grad.strides || *grad.strides == 1 || expected.size <= 1)
                               : hasLayout(grad, params[i].layout);
    const int64_t elements = isVector ? expected.size : params[i].layout.elements;
    if (!fits || numberOf(grad.dtype) != dtype || numberOf(grad.device) != UPD_CPU ||
        (elements != 0 &&
         (!grad.data || (reinterpret_cast<uintptr_t>(grad.data) & alignmentMask)))) {
      scan.bad = i;
      return scan;
    }
    scan.changed |= grad.data != expected.checked;
  }
  scan.samePlan &= planned;
  return scan;
}

/// Many gradients are looked at by all threads: what a step reads to check 10,000 small ones is not
/// much less than what it reads to apply them.
Optimizer::GradientScan Optimizer::scanGradients(const upd_tensor *grads) const {
  constexpr size_t gradsPerPart = 500;
  constexpr size_t maxParts = 64;
  const size_t parts = std::min({params.size() / gradsPerPart, maxParts,
                                 static_cast<size_t>(std::max(pool.thread_count(pool.pool), 1))});
  if (parts < 2)
    return scanGradients(grads, 0, params.size());

  struct Job {
    const Optimizer &optimizer;
    const upd_tensor *grads;
    size_t parts;
    GradientScan scans[maxParts];
  } job{*this, grads, parts, {}};
  auto scanPart = [](void *context, int32_t index) {
    Job &job = *static_cast<Job *>(context);
    const size_t count = job.optimizer.params.size();
    const auto part = static_cast<size_t>(index);
    job.scans[part] = job.optimizer.scanGradients(job.grads, count * part / job.parts,
                                                  count * (part + 1) / job.parts);
  };
  pool.run(pool.pool, static_cast<int32_t>(parts), scanPart, &job);
  GradientScan whole;
  for (size_t i = 0; i < parts; ++i) {
    whole.bad = std::min(whole.bad, job.scans[i].bad);
    whole.samePlan &= job.scans[i].samePlan;
    whole.changed |= job.scans[i].changed;
  }
  return whole;
}

/// Writes nothing but the list of what changed; runs over all gradients in every step, and so looks
/// for the reason only if there is something wrong.
Status Optimizer::checkGradients(const upd_tensor *grads, bool &samePlan) {
  if (!gradsChecked)
    for (ExpectedGrad &expected : expectedGrads)
      expected.checked = nullptr;
  gradsChecked = true;
  const GradientScan scan = scanGradients(grads);
  if (scan.bad != GradientScan::none)
    return gradientError(scan.bad, grads[scan.bad]);
  samePlan = scan.samePlan;
  changedGrads.clear();
  if (scan.changed)
    for (size_t i = 0; i < params.size(); ++i)
      if (!isAbsent(grads[i]) && grads[i].data != expectedGrads[i].checked)
        changedGrads.push_back(static_cast<uint32_t>(i));
  return {};
}

Status Optimizer::gradientError(size_t param, const upd_tensor &grad) const {
  const TensorLayout &layout = params[param].layout;
  const std::string subject = fmt::format("gradient of parameter `{}`", names[param]);
  if (grad.rank == -1)
    return invalidArgument(
        fmt::format("{} has rank -1 but data; an absent gradient has null data", subject));
  if (!hasLayout(grad, layout))
    return invalidArgument(otherLayoutText(subject, grad, layout));
  if (Status status = checkMemory(grad, interface().grad, layout.elements, subject, "gradients");
      !status.ok())
    return status;
  return {UPD_INTERNAL_ERROR, fmt::format("{} was refused without a reason", subject)};
}

Status Optimizer::checkOverlap(const upd_tensor *grads) const {
  const size_t elementBytes = sizeOf(interface().grad);
  for (uint32_t i : changedGrads) {
    const size_t bytes = static_cast<size_t>(params[i].layout.elements) * elementBytes;
    const MemoryRange range(grads[i].data, bytes, i, 0);
    if (range.end < range.begin)
      return invalidArgument(
          fmt::format("gradient of parameter `{}` reaches beyond the end of memory", names[i]));
    if (const MemoryRange *owner = owned.find(range))
      return invalidArgument(
          fmt::format("gradient of parameter `{}` overlaps {}; a step only reads gradients, so "
                      "give it memory of its own",
                      names[i], ownerText(*owner, range)));
  }
  return {};
}

Status Optimizer::checkBoundStates(const upd_tensor *grads) const {
  for (size_t i = 0; i < params.size() && boundStates != 0; ++i)
    if (!isAbsent(grads[i]))
      if (Status status = checkBoundStates(i); !status.ok())
        return status;
  return {};
}

Status Optimizer::checkBoundStates(size_t param) const {
  if (boundStates == 0 || hasStates(param))
    return {};
  size_t bound = stateCount(), missing = stateCount();
  for (size_t j = 0; j < stateCount(); ++j)
    if (isOwn(param, j))
      (stateOrigins[slotOf(param, j)] == StateOrigin::None ? missing : bound) = j;
  if (bound == stateCount())
    return {};
  return invalidArgument(
      fmt::format("parameter `{}` has state `{}` but not `{}`; give it all of its states, or none",
                  names[param], interface().states[bound].name, interface().states[missing].name));
}

void Optimizer::buildPlan(const upd_tensor *grads, const std::vector<int64_t> &besideSizes) {
  foldSteps();
  plan.clear(params.size(), groupCount(), besideSizes);
  for (size_t i = 0; i < params.size(); ++i)
    if (!isAbsent(grads[i]))
      plan.add(static_cast<uint32_t>(i), params[i].plan, params[i].shape,
               {params[i].group, isFirst(i), steps[i]});
  plan.finish(seed, paramNumbers);
  for (PlanRun &run : plan.runs()) {
    const std::vector<PlanRun::Tensor> &tensors = run.tensors();
    const std::vector<StreamInterface> &streams = run.streamInterfaces();
    for (size_t position = 0; position < tensors.size(); ++position) {
      const size_t param = tensors[position].param;
      run.setStream(position, StreamIndex::Param, params[param].data);
      run.setStream(position, StreamIndex::Grad, grads[param].data);
      for (size_t j = StreamIndex::FirstState; j < streams.size(); ++j)
        if (streams[j].state != StreamInterface::none)
          run.setStream(position, j, statePointers[slotOf(param, streams[j].state)]);
      for (size_t j = 0; j < run.scalarStates().size(); ++j) {
        const size_t slot = slotOf(param, run.scalarStates()[j]);
        if (stateOrigins[slot] != StateOrigin::None)
          run.rows().setScalar(tensors[position].row, j, statePointers[slot]);
      }
    }
  }
}

/// Leaves the plan ready to run, and discarded, until it is accepted: what is not applied is
/// started anew.
Status Optimizer::preparePlan(const upd_tensor *grads, size_t gradCount,
                              const std::vector<int64_t> &besideSizes) {
  if (gradCount != params.size())
    return invalidArgument(fmt::format(
        "there {} for {}; an absent one has null data and rank -1",
        gradCount == 1 ? "is 1 gradient" : fmt::format("are {} gradients", gradCount),
        params.size() == 1 ? "1 parameter" : fmt::format("{} parameters", params.size())));
  if (gradCount != 0 && !grads)
    return invalidArgument(fmt::format("grads is null, but grad_count is {}", gradCount));
  bool samePlan;
  if (Status status = checkGradients(grads, samePlan); !status.ok())
    return status;
  if (Status status = checkOverlap(grads); !status.ok())
    return status;
  if (Status status = checkBoundStates(grads); !status.ok())
    return status;

  if (!samePlan || plan.besideSizes() != besideSizes)
    buildPlan(grads, besideSizes);
  plan.discard();
  plan.start(hypers, pool);
  lackedStates = plan.lacksStates();
  freshStates = true;
  if (lackedStates)
    if (Status status = createStates(); !status.ok())
      return status;
  for (uint32_t i : changedGrads) {
    expectedGrads[i].checked = grads[i].data;
    plan.runs()[params[i].plan].setStream(plan.positionOf(i), StreamIndex::Grad, grads[i].data);
  }
  return {};
}

/// Nothing fails.
void Optimizer::applyPlan() {
  plan.accept();
  plan.run(hypers, pool, freshStates);
  if (lackedStates)
    acceptStates();
  if (!plan.hasSkipped()) {
    ++planSteps;
    plan.advance();
    return;
  }
  foldSteps();
  for (const PlanRun &run : plan.runs())
    for (size_t i = 0; i < run.tensors().size(); ++i)
      if (!run.isSkipped(i))
        ++steps[run.tensors()[i].param];
  plan.discard();
}

Status Optimizer::step(const upd_tensor *grads, size_t gradCount) {
  prepared = Prepared::Nothing;
  DefaultFloatEnvironment environment;
  if (Status status = preparePlan(grads, gradCount, {}); !status.ok())
    return status;
  applyPlan();
  return {};
}

/// Leaves `rowsRuns` ready to run, and the plan if there are gradients of whole parameters.
Status Optimizer::prepareStep(const upd_tensor *grads, size_t gradCount,
                              const upd_row_grad *rowGrads, size_t rowGradCount) {
  prepared = Prepared::Nothing;
  rowsRuns.clear();
  if (rowGradCount != 0 && !rowGrads)
    return invalidArgument(
        fmt::format("row_grads is null, but row_grad_count is {}", rowGradCount));
  auto hasGradient = [&](size_t param) {
    return grads && param < gradCount && !isAbsent(grads[param]);
  };
  std::vector<size_t> listed;
  for (size_t i = 0; i < rowGradCount; ++i) {
    if (Status status = checkRowGradient(rowGrads[i]); !status.ok())
      return status;
    const size_t param = rowGrads[i].param;
    listed.push_back(param);
    if (hasGradient(param))
      return invalidArgument(fmt::format("parameter `{}` has a gradient and a gradient of rows; "
                                         "give one of them",
                                         names[param]));
  }
  std::sort(listed.begin(), listed.end());
  if (const auto twice = std::adjacent_find(listed.begin(), listed.end()); twice != listed.end())
    return invalidArgument(
        fmt::format("parameter `{}` has two gradients of rows; give one", names[*twice]));

  // A group's size is that of all of its parameters that take part, each as a whole.
  std::vector<int64_t> listedSizes(listed.empty() ? 0 : groupCount());
  for (const size_t param : listed)
    listedSizes[params[param].group] += params[param].shape.elements();
  std::vector<int64_t> groupSizes = listedSizes;
  for (size_t i = 0; i < params.size() && !listed.empty(); ++i)
    if (hasGradient(i))
      groupSizes[params[i].group] += params[i].shape.elements();

  for (size_t i = 0; i < rowGradCount; ++i)
    addRowsRun(rowGrads[i], groupSizes);
  InitialValues initial;
  if (std::any_of(rowsRuns.begin(), rowsRuns.end(), [](RowsRun &run) { return run.isFirst(); }))
    initial.evaluate(*kernels, hypers);
  for (RowsRun &run : rowsRuns)
    run.start(initial, hypers, pool);
  if (Status status = createRowStates(initial); !status.ok())
    return status;
  const bool hasPlan = grads || gradCount != 0;
  if (hasPlan)
    if (Status status = preparePlan(grads, gradCount, listedSizes); !status.ok())
      return status;
  for (RowsRun &run : rowsRuns)
    if (run.isFirst() && !run.isSkipped())
      setRowStates(run);
  prepared = hasPlan ? Prepared::PlanAndRows : Prepared::Rows;
  return {};
}

/// Nothing fails.
void Optimizer::applyStep() {
  if (std::exchange(prepared, Prepared::Nothing) == Prepared::PlanAndRows)
    applyPlan();
  for (RowsRun &run : rowsRuns) {
    if (run.isSkipped())
      continue;
    run.run(pool);
    commitRowStep(run);
  }
  rowsRuns.clear();
}

Status Optimizer::stepRows(const upd_tensor *grads, size_t gradCount, const upd_row_grad *rowGrads,
                           size_t rowGradCount) {
  DefaultFloatEnvironment environment;
  if (Status status = prepareStep(grads, gradCount, rowGrads, rowGradCount); !status.ok())
    return status;
  applyStep();
  return {};
}

Status Optimizer::prepareRows(const upd_tensor *grads, size_t gradCount,
                              const upd_row_grad *rowGrads, size_t rowGradCount) {
  DefaultFloatEnvironment environment;
  return prepareStep(grads, gradCount, rowGrads, rowGradCount);
}

Status Optimizer::apply() {
  if (prepared == Prepared::Nothing)
    return invalidArgument("no step is prepared: none was, it was refused or applied, or the "
                           "optimizer has changed since");
  DefaultFloatEnvironment environment;
  applyStep();
  return {};
}
