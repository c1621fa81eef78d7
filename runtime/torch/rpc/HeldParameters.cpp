//===- HeldParameters.cpp - Parameters held for clients ---------------------------------------===//

#include "runtime/torch/rpc/HeldParameters.h"

#include "runtime/torch/rpc/TensorLocks.h"

#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>

using namespace updraft::torch_adapter;

HeldParameters &HeldParameters::process() {
  // Never destroyed, because threads of the agent may outlive static objects.
  static auto *all = new HeldParameters;
  return *all;
}

static void requireSameKind(const std::string &name, const at::Tensor &held,
                            const at::Tensor &value) {
  TORCH_CHECK_VALUE(held.sizes() == value.sizes() && held.scalar_type() == value.scalar_type(),
                    "the parameter `", name, "` is there with shape ", held.sizes(), " and type ",
                    held.scalar_type(), ", and what was given has shape ", value.sizes(),
                    " and type ", value.scalar_type());
}

bool HeldParameters::hold(const std::string &name, const at::Tensor &value) {
  TORCH_CHECK_VALUE(!name.empty(),
                    "a parameter came with an empty name; give one to ask for it by");
  TORCH_CHECK_VALUE(at::isFloatingType(value.scalar_type()) ||
                        at::isComplexType(value.scalar_type()),
                    "the parameter `", name, "` has type ", value.scalar_type(),
                    ", for which there are no gradients; give floating-point or complex values");
  TORCH_CHECK_VALUE(value.layout() == at::kStrided, "the parameter `", name,
                    "` is sparse; give dense values");
  std::lock_guard guard(mutex);
  if (auto found = byName.find(name); found != byName.end()) {
    requireSameKind(name, found->second, value);
    return false;
  }
  // A caller in this process may continue to use its own memory.
  byName[name] = value.detach().clone().requires_grad_(true);
  return true;
}

at::Tensor HeldParameters::get(const std::string &name) const {
  std::shared_lock guard(mutex);
  auto found = byName.find(name);
  TORCH_CHECK_INDEX(found != byName.end(), "this worker holds no parameter `", name, "`");
  return found->second;
}

void HeldParameters::assign(const std::string &name, const at::Tensor &value) const {
  at::Tensor held = get(name);
  requireSameKind(name, held, value);
  c10::NoGradGuard unrecorded;
  const dist::StorageLocks locks({memoryOf(held)}, [&](size_t) { return "`" + name + "`"; });
  dist::StorageLocks::Guard exclusive(locks, {0});
  held.copy_(value);
}

bool HeldParameters::drop(const std::string &name) {
  at::Tensor last; // freed after the mutex is unlocked
  std::lock_guard guard(mutex);
  auto found = byName.find(name);
  if (found == byName.end())
    return false;
  last = std::move(found->second);
  byName.erase(found);
  return true;
}

std::vector<std::string> HeldParameters::names() const {
  std::shared_lock guard(mutex);
  std::vector<std::string> result;
  result.reserve(byName.size());
  for (const auto &[name, held] : byName)
    result.push_back(name);
  std::sort(result.begin(), result.end());
  return result;
}
