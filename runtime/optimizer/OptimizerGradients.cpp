//===- OptimizerGradients.cpp - What a step refuses -------------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/optimizer/Optimizer.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft::runtime;

Optimizer::GradientScan Optimizer::scanGradients(const upd_tensor *grads, size_t begin, size_t end,
                                                 const PlannedParams &plan) const {
  GradientScan scan;
  const upd_dtype dtype = interface().grad;
  const uintptr_t alignmentMask = sizeOf(dtype) - 1;
  const bool isPlanned = plan.usable();
  const int32_t deviceIndex = device.kind == UPD_CUDA ? device.index : 0;
  const int32_t indexMask = device.kind == UPD_CUDA ? -1 : 0;
  for (size_t i = begin; i < end; ++i) {
    const upd_tensor &grad = grads[i];
    const bool absent = isAbsent(grad);
    if (isPlanned && absent != (plan.positionOf(i) == PlannedParams::absent))
      scan.samePlan = false;
    if (absent)
      continue;
    const ExpectedGrad &expected = expectedGrads[i];
    const bool isVector = expected.rank == 1;
    const bool fits = isVector ? grad.rank == 1 && grad.shape && *grad.shape == expected.size &&
                                     (!grad.strides || *grad.strides == 1 || expected.size <= 1)
                               : hasLayout(grad, params[i].layout);
    const int64_t elements = isVector ? expected.size : params[i].layout.elements;
    if (!fits || grad.dtype != dtype || grad.device != device.kind ||
        (grad.device_index & indexMask) != deviceIndex ||
        (elements != 0 &&
         (!grad.data || (reinterpret_cast<uintptr_t>(grad.data) & alignmentMask)))) {
      scan.bad = i;
      return scan;
    }
    scan.changed |= grad.data != expected.checked;
  }
  scan.samePlan &= isPlanned;
  return scan;
}

/// Many gradients are looked at by all threads: what a step reads to check 10,000 small ones is not
/// much less than what it reads to apply them.
Optimizer::GradientScan Optimizer::scanGradients(const upd_tensor *grads,
                                                 const PlannedParams &plan) const {
  constexpr size_t gradsPerPart = 500;
  constexpr size_t maxParts = 64;
  const size_t parts = std::min({params.size() / gradsPerPart, maxParts,
                                 static_cast<size_t>(std::max(pool.thread_count(pool.pool), 1))});
  if (parts < 2)
    return scanGradients(grads, 0, params.size(), plan);

  struct Job {
    const Optimizer &optimizer;
    const upd_tensor *grads;
    const PlannedParams &plan;
    size_t parts;
    GradientScan scans[maxParts];
  } job{*this, grads, plan, parts, {}};
  auto scanPart = [](void *context, int32_t index) {
    Job &job = *static_cast<Job *>(context);
    const size_t count = job.optimizer.params.size();
    const auto part = static_cast<size_t>(index);
    job.scans[part] = job.optimizer.scanGradients(job.grads, count * part / job.parts,
                                                  count * (part + 1) / job.parts, job.plan);
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
Status Optimizer::checkGradients(const upd_tensor *grads, size_t gradCount, bool &samePlan) {
  if (gradCount != params.size())
    return invalidArgument(fmt::format(
        "there {} for {}; an absent one has the rank UPD_ABSENT",
        gradCount == 1 ? "is 1 gradient" : fmt::format("are {} gradients", gradCount),
        params.size() == 1 ? "1 parameter" : fmt::format("{} parameters", params.size())));
  if (gradCount != 0 && !grads)
    return invalidArgument(fmt::format("grads is null, but grad_count is {}", gradCount));
  if (!gradsChecked)
    for (ExpectedGrad &expected : expectedGrads)
      expected.checked = nullptr;
  gradsChecked = true;
  const GradientScan scan = scanGradients(grads, planned());
  if (scan.bad != GradientScan::none)
    return gradientError(scan.bad, grads[scan.bad]);
  samePlan = scan.samePlan;
  changedGrads.clear();
  if (scan.changed)
    for (size_t i = 0; i < params.size(); ++i)
      if (!isAbsent(grads[i]) && grads[i].data != expectedGrads[i].checked)
        changedGrads.push_back(static_cast<uint32_t>(i));
  if (Status status = checkOverlap(grads); !status.ok())
    return status;
  return checkBoundStates(grads);
}

void Optimizer::acceptGradients(const upd_tensor *grads) {
  for (uint32_t i : changedGrads)
    expectedGrads[i].checked = grads[i].data;
}

Status Optimizer::gradientError(size_t param, const upd_tensor &grad) const {
  const TensorLayout &layout = params[param].layout;
  const std::string subject = fmt::format("gradient of parameter `{}`", names[param]);
  if (!hasLayout(grad, layout))
    return invalidArgument(otherLayoutText(subject, grad, layout));
  if (Status status =
          checkMemory(grad, device, interface().grad, layout.elements, subject, "gradients");
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
