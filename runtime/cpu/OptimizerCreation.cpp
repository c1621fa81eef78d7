//===- OptimizerCreation.cpp - Making an optimizer, and what it refuses -----------------------===//

#include "runtime/base/DType.h"
#include "runtime/cpu/Optimizer.h"
#include "runtime/cpu/ThreadPool.h"

#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <unordered_set>

using namespace updraft::runtime;

Optimizer::Optimizer(std::shared_ptr<const Kernels> kernelsToUse, const upd_pool &poolToUse)
    : kernels(std::move(kernelsToUse)), pool(poolToUse), hypers(kernels), plan(kernels) {}

Status Optimizer::create(std::shared_ptr<const Kernels> kernels, const upd_group *groups,
                         size_t groupCount, const upd_pool *pool,
                         std::unique_ptr<Optimizer> &result) {
  if (groupCount != 0 && !groups)
    return invalidArgument(fmt::format("groups is null, but group_count is {}", groupCount));
  if (pool && (!pool->run || !pool->thread_count))
    return invalidArgument("run or thread_count of the pool is null; give both, or no pool");
  std::unique_ptr<Optimizer> optimizer(
      new Optimizer(std::move(kernels), pool ? *pool : ThreadPool::processHandle()));
  if (Status status = optimizer->addGroups(groups, groupCount); !status.ok())
    return status;
  if (Status status = optimizer->checkNames(); !status.ok())
    return status;
  if (Status status = optimizer->checkParamsApart(); !status.ok())
    return status;
  result = std::move(optimizer);
  return {};
}

Status Optimizer::addGroups(const upd_group *groups, size_t groupCount) {
  size_t total = 0, sizes = 0;
  for (size_t i = 0; i < groupCount; ++i) {
    const upd_group &group = groups[i];
    if (group.param_count != 0 && !group.params)
      return invalidArgument(
          fmt::format("params of group {} is null, but param_count is {}", i, group.param_count));
    if (group.param_count > StepPlan::absent - 1 - total)
      return invalidArgument("there are more than 2^32 - 2 parameters");
    total += group.param_count;
    for (size_t j = 0; j < group.param_count; ++j)
      if (group.params[j].rank > 0 && group.params[j].rank <= maxRank)
        sizes += 2 * static_cast<size_t>(group.params[j].rank);
  }
  params.reserve(total);
  names.reserve(total);
  dimensions.reserve(sizes); // the layouts point into it
  for (size_t i = 0; i < groupCount; ++i) {
    if (Status status = hypers.addGroup(groups[i].hypers, groups[i].hyper_count); !status.ok())
      return status;
    for (size_t j = 0; j < groups[i].param_count; ++j) {
      const char *name = groups[i].names ? groups[i].names[j] : nullptr;
      if (groups[i].names && !name)
        return invalidArgument(fmt::format("the name of parameter {} of group {} is null", j, i));
      if (Status status = addParam(groups[i].params[j], name, static_cast<uint32_t>(i));
          !status.ok())
        return status;
    }
  }
  steps.resize(total);
  expectedGrads.resize(total);
  for (size_t i = 0; i < total; ++i) {
    const TensorLayout &layout = params[i].layout;
    expectedGrads[i].rank = layout.rank;
    expectedGrads[i].size = layout.rank == 1 ? *layout.shape : 0;
  }
  changedGrads.reserve(total);
  statePointers.resize(total * stateCount());
  stateOrigins.resize(total * stateCount());
  return {};
}

Status Optimizer::addParam(const upd_tensor &tensor, const char *name, uint32_t group) {
  names.push_back(name ? std::string(name) : std::to_string(params.size()));
  const std::string subject = fmt::format("parameter `{}`", names.back());
  TensorLayout layout;
  if (Status status = readLayout(tensor, subject, dimensions, layout); !status.ok())
    return status;
  if (Status status =
          checkMemory(tensor, interface().param, layout.elements, subject, "parameters");
      !status.ok())
    return status;
  if (tensor.read_only)
    return invalidArgument(
        fmt::format("{} is read-only, but a step writes it; give a copy that is not", subject));
  params.push_back({tensor.data, layout, group});
  return {};
}

Status Optimizer::checkNames() const {
  std::unordered_set<std::string_view> seen;
  for (const std::string &name : names) {
    if (name.empty())
      return invalidArgument("the name of a parameter is empty");
    if (!seen.insert(name).second)
      return invalidArgument(
          fmt::format("two parameters have the name `{}`; names are unique over all groups", name));
  }
  return {};
}

Status Optimizer::checkParamsApart() {
  std::vector<MemoryRange> ranges;
  ranges.reserve(params.size());
  for (size_t i = 0; i < params.size(); ++i)
    ranges.emplace_back(params[i].data,
                        static_cast<size_t>(params[i].layout.elements) * sizeOf(interface().param),
                        static_cast<uint32_t>(i), paramPart);
  const MemoryRange *first = nullptr, *second = nullptr;
  if (owned.assign(std::move(ranges), first, second))
    return {};
  const size_t a = std::min(first->owner, second->owner), b = std::max(first->owner, second->owner);
  return invalidArgument(fmt::format(
      "parameters `{}` and `{}` overlap in memory; give each tensor once", names[a], names[b]));
}
