//===- CpuOptimizer.cpp - An optimizer of tensors on the CPU ----------------------------------===//

#include "runtime/cpu/CpuOptimizer.h"

#include "runtime/base/DType.h"
#include "runtime/base/FloatEnvironment.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/matrix/Lapack.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

using namespace updraft::runtime;

CpuOptimizer::CpuOptimizer(const std::shared_ptr<const Kernels> &kernelsToUse,
                           const upd_pool &poolToUse)
    : Optimizer(kernelsToUse, {UPD_CPU, 0, /*isOnlyOne=*/kernelsToUse->interface.gpu.empty()},
                poolToUse),
      plan(std::make_unique<StepPlan>(kernels)), hypersRead(kernels) {}

Status CpuOptimizer::create(const std::shared_ptr<const Kernels> &kernels, const upd_group *groups,
                            size_t groupCount, const upd_pool *pool,
                            std::unique_ptr<Optimizer> &result) {
  if (Status status = checkArguments(groups, groupCount, pool); !status.ok())
    return status;
  // A rule that was compiled only for a GPU has no functions for the CPU.
  if (kernels->plans.empty())
    return {UPD_UNSUPPORTED,
            fmt::format("rule `{}` was compiled for `{}`, and has no code for this CPU; compile it "
                        "again, for the CPU",
                        kernels->interface.name, kernels->interface.gpu)};
  if (Status status = Lapack::loadFor(kernels->interface); !status.ok())
    return status;
  std::unique_ptr<CpuOptimizer> optimizer(
      new CpuOptimizer(kernels, pool ? *pool : ThreadPool::processHandle()));
  if (Status status = optimizer->addGroups(groups, groupCount); !status.ok())
    return status;
  optimizer->steps.resize(optimizer->paramCount());
  result = std::move(optimizer);
  return {};
}

//===----------------------------------------------------------------------------------------===//
// Memory and step counts
//===----------------------------------------------------------------------------------------===//

Status CpuOptimizer::allocateStates(size_t bytes, StateArena &memory) {
  memory = StateArena::allocate(bytes);
  if (bytes != 0 && !memory.data())
    return {UPD_OUT_OF_MEMORY, fmt::format("no memory for {} bytes of states", bytes)};
  return {};
}

Status CpuOptimizer::readMemory(void *to, const void *from, size_t bytes) const {
  std::memcpy(to, from, bytes);
  return {};
}

Status CpuOptimizer::writeMemory(void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

Status CpuOptimizer::setStream(void *stream) {
  return invalidArgument("the parameters are on the CPU, which has no streams");
}

Status CpuOptimizer::bindStep(size_t param, const upd_tensor &count) {
  return invalidArgument("the parameters are on the CPU, where the optimizer has the step counts; "
                         "set them with upd_optimizer_set_step");
}

bool CpuOptimizer::isFirst(size_t param) const {
  return ownsStates(param) ? !hasStates(param) : stepsOf(param) == 0;
}

int64_t CpuOptimizer::stepsOf(size_t param) const {
  // A discarded plan may have steps that aren't folded yet.
  const bool inPlan = planSteps != 0 && plan->positionOf(param) != PlannedParams::absent;
  return steps[param] + (inPlan ? planSteps : 0);
}

void CpuOptimizer::foldSteps() {
  if (planSteps == 0)
    return;
  for (const PlanRun &run : plan->runs())
    for (const PlanRun::Tensor &tensor : run.tensors())
      steps[tensor.param] += planSteps;
  planSteps = 0;
}

Status CpuOptimizer::replaceSteps(std::vector<int64_t> counts) {
  steps = std::move(counts);
  planSteps = 0;
  return {};
}

Status CpuOptimizer::getStep(size_t param, int64_t &step) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  step = stepsOf(param);
  return {};
}

Status CpuOptimizer::getSteps(int64_t *result, size_t count) {
  if (Status status = checkAskedSteps(count); !status.ok())
    return status;
  for (size_t i = 0; i < count; ++i)
    result[i] = stepsOf(i);
  return {};
}

Status CpuOptimizer::setStep(size_t param, int64_t step) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = checkStepCount(step); !status.ok())
    return status;
  foldSteps();
  steps[param] = step;
  discardPlan();
  return {};
}

/// Called before anything is changed. In f64, 2^53 + 1 equals 2^53.
Status CpuOptimizer::refuseStepBeyond(size_t param) const {
  return invalidArgument(fmt::format("parameter `{}` has taken 2^53 steps, and none is counted "
                                     "beyond; set its step count",
                                     names[param]));
}

Status CpuOptimizer::checkPlanSteps() const {
  if (planLargest + planSteps < maxStep)
    return {};
  for (const PlanRun &run : plan->runs())
    for (const PlanRun::Tensor &tensor : run.tensors())
      if (stepsOf(tensor.param) >= maxStep)
        return refuseStepBeyond(tensor.param);
  return {};
}

//===----------------------------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------------------------===//

void CpuOptimizer::buildPlan(const std::vector<int64_t> &besideSizes, bool isProbed) {
  foldSteps();
  plan->clear(params.size(), groupCount(), besideSizes, isProbed);
  planLargest = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    if (!gradOf(i))
      continue;
    plan->add(static_cast<uint32_t>(i), planOf(i, isProbed), params[i].shape,
              {params[i].group, isFirst(i), steps[i]});
    planLargest = std::max(planLargest, steps[i]);
  }
  plan->finish(seed, paramNumbers);
  for (PlanRun &run : plan->runs()) {
    const std::vector<PlanRun::Tensor> &tensors = run.tensors();
    const std::vector<StreamInterface> &streams = run.streamInterfaces();
    for (size_t position = 0; position < tensors.size(); ++position) {
      const size_t param = tensors[position].param;
      run.setStream(position, StreamIndex::Param, params[param].data);
      run.setStream(position, StreamIndex::Grad, gradOf(param));
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

/// Takes the address of a gradient that may have moved.
void CpuOptimizer::setGrad(size_t param) {
  PlanRun &run = plan->runs()[planOf(param, plan->isProbed())];
  run.setStream(plan->positionOf(param), StreamIndex::Grad, gradOf(param));
}

/// Makes `plan` that of the next step. `isSame`: the step has the parameters of the last one.
/// Probed and other steps have a plan each, which stays while the parameters do, because building
/// one takes longer than many a step. Each kind has its object, whose memory it uses again.
void CpuOptimizer::choosePlan(bool isSame, bool isProbed, const std::vector<int64_t> &besideSizes) {
  if (!isSame)
    otherBehind.reset();
  if (plan->isProbed() == isProbed) {
    if (!isSame)
      buildPlan(besideSizes, isProbed);
    return;
  }
  planLargest += planSteps;
  foldSteps();
  if (!otherPlan)
    otherPlan = std::make_unique<StepPlan>(kernels);
  plan.swap(otherPlan);
  if (otherBehind) {
    plan->advance(*otherBehind);
    for (size_t i = 0; i < params.size(); ++i)
      if (plan->contains(i))
        setGrad(i);
  } else {
    buildPlan(besideSizes, isProbed);
  }
  if (isSame)
    otherBehind = 0;
}

/// Prepares the plan. It stays discarded until `apply` accepts it, so that an abandoned step is
/// prepared anew.
Status CpuOptimizer::preparePlan(const StepGradients &gradients,
                                 const std::vector<int64_t> &besideSizes) {
  bool samePlan;
  if (Status status = checkGradients(gradients, samePlan); !status.ok())
    return status;
  const bool isProbed = gradients.rowCount == 0 && isNextProbed();
  choosePlan(samePlan && plan->besideSizes() == besideSizes, isProbed, besideSizes);
  plan->discard();
  if (Status status = checkPlanSteps(); !status.ok())
    return status;
  plan->start(stepHypers(), pool);
  lackedStates = plan->lacksStates();
  freshStates = true;
  if (lackedStates)
    if (Status status = createStates(); !status.ok())
      return status;
  for (uint32_t i : movedGrads())
    setGrad(i);
  acceptGradients();
  return {};
}

/// Called after the plan has run.
void CpuOptimizer::recordProbes() const {
  for (uint32_t i = 0; i < params.size(); ++i) {
    if (!plan->contains(i))
      continue;
    const PlanRun &run = plan->runs()[planOf(i, /*isProbed=*/true)];
    const uint32_t row = run.tensors()[plan->positionOf(i)].row;
    probes->add({run.rows()[row].steps + 1, i}, run.rows().probes(row));
  }
}

/// Called after the plan has run.
void CpuOptimizer::countPlanStep() {
  // Tensors that weren't skipped now have their new states.
  for (const PlanRun &run : plan->runs())
    for (size_t i = 0; lackedStates && i < run.tensors().size(); ++i)
      if (!run.isSkipped(i))
        acceptStates(run.tensors()[i].param);
  if (!plan->hasSkipped()) {
    ++planSteps;
    if (otherBehind)
      ++*otherBehind;
    plan->advance(1);
    return;
  }
  foldSteps();
  for (const PlanRun &run : plan->runs())
    for (size_t i = 0; i < run.tensors().size(); ++i)
      if (!run.isSkipped(i))
        ++steps[run.tensors()[i].param];
  plan->discard();
}

Status CpuOptimizer::prepareStep(const StepGradients &gradients) {
  DefaultFloatEnvironment environment;
  prepared = Prepared::Nothing;
  rowsRuns.clear();
  // Reads all bound hyperparameters, or none if the rule refuses one.
  if (!hyperSources.empty())
    if (Status status = hypersNow(hypersRead); !status.ok())
      return status;
  if (Status status = checkRowGradients(gradients); !status.ok())
    return status;
  std::vector<int64_t> listedSizes;
  if (gradients.rowCount != 0)
    if (Status status = prepareRows(gradients, listedSizes); !status.ok())
      return status;
  if (gradients.hasWhole)
    if (Status status = preparePlan(gradients, listedSizes); !status.ok())
      return status;
  for (RowsRun &run : rowsRuns)
    if (run.isFirst() && !run.isSkipped())
      setRowStates(run);
  prepared = gradients.hasWhole ? Prepared::Plan : Prepared::Rows;
  return {};
}

Status CpuOptimizer::applyStep(const upd_step_observer *observer) {
  if (prepared == Prepared::Nothing)
    return invalidArgument("no step is prepared: none was, it was refused or applied, or the "
                           "optimizer has changed since");
  DefaultFloatEnvironment environment;
  const bool hasPlan = std::exchange(prepared, Prepared::Nothing) == Prepared::Plan;
  const bool isSkipped = foundInf && *foundInf != 0;
  if (hasPlan && !isSkipped) {
    plan->accept();
    plan->run(stepHypers(), pool, freshStates, observer);
    if (plan->isProbed())
      recordProbes();
    countPlanStep();
  }
  appliedSteps += hasPlan || !rowsRuns.empty();
  for (RowsRun &run : rowsRuns)
    if (!isSkipped && !run.isSkipped()) {
      run.run(pool);
      commitRowStep(run);
      const uint32_t param = run.param();
      if (observer)
        observer->stepped(observer->context, &param, 1);
    }
  rowsRuns.clear();
  return {};
}
