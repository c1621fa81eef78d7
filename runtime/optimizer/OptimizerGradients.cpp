//===- OptimizerGradients.cpp - Checking gradients --------------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/optimizer/Optimizer.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>

using namespace updraft::runtime;

Status Optimizer::step(const StepGradients &gradients) {
  const timeline::Span span = spanOf("step ");
  if (Status status = prepare(gradients); !status.ok())
    return status;
  return apply(nullptr);
}

/// Used as the address of gradients without elements.
static constexpr char noElements = 0;

/// Stores the addresses of gradients [begin, end). Returns the index of the first invalid one, or
/// the number of parameters.
size_t Optimizer::findRefused(const upd_tensor *grads, size_t begin, size_t end) {
  const upd_dtype dtype = interface().grad;
  const uintptr_t alignmentMask = sizeOf(dtype) - 1;
  const int32_t deviceIndex = device.kind == UPD_CUDA ? device.index : 0;
  const int32_t indexMask = device.kind == UPD_CUDA ? -1 : 0;
  for (size_t i = begin; i < end; ++i) {
    const upd_tensor &grad = grads[i];
    ownAddresses[i] = nullptr;
    if (grad.rank == UPD_ABSENT)
      continue;
    const ExpectedShape &expected = expectedShapes[i];
    const bool isVector = expected.rank == 1;
    const bool fits = isVector ? grad.rank == 1 && grad.shape && *grad.shape == expected.size &&
                                     (!grad.strides || *grad.strides == 1 || expected.size <= 1)
                               : hasLayout(grad, params[i].layout);
    const int64_t elements = isVector ? expected.size : params[i].layout.elements;
    if (!fits || grad.dtype != dtype || grad.device != device.kind ||
        (grad.device_index & indexMask) != deviceIndex ||
        (elements != 0 && (!grad.data || (reinterpret_cast<uintptr_t>(grad.data) & alignmentMask))))
      return i;
    ownAddresses[i] = elements != 0 ? grad.data : &noElements;
  }
  return params.size();
}

/// Finds the reason only for an invalid gradient, because every step checks all gradients.
Status Optimizer::checkTensors(const upd_tensor *grads) {
  constexpr size_t gradsPerPart = 500;
  std::atomic<size_t> refused = params.size();
  forParts(pool, params.size(), gradsPerPart, [&](size_t begin, size_t end) {
    const size_t found = findRefused(grads, begin, end);
    size_t first = refused;
    while (found < first && !refused.compare_exchange_weak(first, found))
      ;
  });
  gradAddresses = ownAddresses.data();
  if (refused == params.size())
    return {};
  if (Status status = checkGradient(refused, grads[refused]); !status.ok())
    return status;
  return {UPD_INTERNAL_ERROR,
          fmt::format("gradient of parameter `{}` was refused without a reason", names[refused])};
}

/// The caller guarantees dtype, device and layout, so only the alignment can be wrong.
Status Optimizer::checkAddresses(const void *const *grads) const {
  const uintptr_t alignmentMask = sizeOf(interface().grad) - 1;
  uintptr_t bits = 0;
  for (size_t i = 0; i < params.size(); ++i)
    bits |= reinterpret_cast<uintptr_t>(grads[i]);
  for (size_t i = 0; i < params.size() && (bits & alignmentMask) != 0; ++i)
    if (grads[i] && params[i].layout.elements != 0) {
      const TensorLayout &layout = params[i].layout;
      const upd_tensor grad{const_cast<void *>(grads[i]),
                            layout.shape,
                            layout.strides,
                            layout.rank,
                            interface().grad,
                            device.kind,
                            device.index,
                            0};
      if (Status status = checkGradient(i, grad); !status.ok())
        return status;
    }
  return {};
}

Status Optimizer::checkGradients(const StepGradients &gradients, bool &samePlan) {
  const size_t count = params.size();
  if (gradients.count != count)
    return invalidArgument(fmt::format(
        "there {} for {}; an absent one has the rank UPD_ABSENT",
        gradients.count == 1 ? "is 1 gradient" : fmt::format("are {} gradients", gradients.count),
        count == 1 ? "1 parameter" : fmt::format("{} parameters", count)));
  if (count != 0 && !gradients.tensors && !gradients.addresses)
    return invalidArgument(fmt::format("grads is null, but grad_count is {}", count));
  gradAddresses = gradients.addresses;
  if (Status status =
          gradients.tensors ? checkTensors(gradients.tensors) : checkAddresses(gradients.addresses);
      !status.ok())
    return status;
  if (!gradsChecked)
    std::fill(checkedGrads.begin(), checkedGrads.end(), nullptr);
  gradsChecked = true;
  samePlan = planned().isOf({gradAddresses, count});
  // Without branches, so that LLVM makes vectors of it.
  bool changed = false;
  for (size_t i = 0; i < count; ++i)
    changed |= (gradAddresses[i] != nullptr) & (gradAddresses[i] != checkedGrads[i]);
  changedGrads.clear();
  for (size_t i = 0; i < count && changed; ++i)
    if (gradAddresses[i] && gradAddresses[i] != checkedGrads[i])
      changedGrads.push_back(static_cast<uint32_t>(i));
  if (Status status = checkOverlap(); !status.ok())
    return status;
  for (size_t i = 0; i < count && boundStates != 0; ++i)
    if (gradAddresses[i])
      if (Status status = checkBoundStates(i); !status.ok())
        return status;
  return {};
}

void Optimizer::acceptGradients() {
  for (uint32_t i : changedGrads)
    checkedGrads[i] = gradAddresses[i];
}

Status Optimizer::checkGradient(size_t param, const upd_tensor &grad) const {
  const TensorLayout &layout = params[param].layout;
  const std::string subject = fmt::format("gradient of parameter `{}`", names[param]);
  if (!hasLayout(grad, layout))
    return invalidArgument(otherLayoutText(subject, grad, layout));
  return checkMemory(grad, device, interface().grad, layout.elements, subject, "gradients");
}

Status Optimizer::checkOverlap() const {
  const size_t elementBytes = sizeOf(interface().grad);
  for (uint32_t i : changedGrads) {
    const size_t bytes = static_cast<size_t>(params[i].layout.elements) * elementBytes;
    const MemoryRange range(gradAddresses[i], bytes, i, 0);
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
