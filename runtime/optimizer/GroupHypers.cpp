//===- GroupHypers.cpp - Hyperparameters of parameter groups ----------------------------------===//

#include "runtime/optimizer/GroupHypers.h"

#include "runtime/base/FloatEnvironment.h"
#include "runtime/base/MessageText.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace updraft::runtime;

GroupHypers::GroupHypers(std::shared_ptr<const Kernels> kernelsToUse)
    : kernels(std::move(kernelsToUse)) {
  for (const HyperInterface &hyper : kernels->interface.hypers)
    names.push_back(hyper.name);
}

Status GroupHypers::find(const char *name, size_t &index) const {
  if (!name)
    return invalidArgument("the name of a hyperparameter is null");
  auto found = std::find(names.begin(), names.end(), name);
  const auto &statics = kernels->interface.statics;
  if (found == names.end() && std::any_of(statics.begin(), statics.end(),
                                          [&](const auto &flag) { return flag.first == name; }))
    return notFound(
        fmt::format("`{}` is a static flag of rule `{}`, not a hyperparameter; give it "
                    "when the rule is compiled: `compile(defaults=...)` in Python, `--set` "
                    "on the command line",
                    name, kernels->interface.name));
  if (found == names.end())
    return notFound(fmt::format("rule `{}` has no hyperparameter `{}`{}", kernels->interface.name,
                                name, nameHint(name, names)));
  index = static_cast<size_t>(found - names.begin());
  return {};
}

Status GroupHypers::checkGroup(size_t group) const {
  if (group < groups)
    return {};
  return invalidArgument(
      fmt::format("group {} does not exist; the optimizer has {}", group, groups));
}

Status GroupHypers::find(size_t group, const char *name, size_t &index) const {
  if (Status status = checkGroup(group); !status.ok())
    return status;
  return find(name, index);
}

Status GroupHypers::validate(const double *group) const {
  if (ignoring)
    return {};
  for (size_t i = 0; i < names.size(); ++i)
    if (std::isnan(group[i]))
      return invalidArgument(fmt::format("hyperparameter `{}` is NaN", names[i]));
  int32_t broken;
  {
    DefaultFloatEnvironment environment;
    broken = kernels->validate(group);
  }
  if (broken < 0)
    return {};
  const std::vector<std::string> &messages = kernels->interface.messages;
  if (static_cast<size_t>(broken) >= messages.size())
    return invalidArgument(
        fmt::format("requirement {} of rule `{}` does not hold", broken, kernels->interface.name));
  return invalidArgument(fillMessage(messages[static_cast<size_t>(broken)], names, group));
}

/// Names the group in a message. Empty for values outside an optimizer.
static std::string ofGroup(std::optional<size_t> number) {
  return number ? fmt::format(" of group {}", *number) : "";
}

std::vector<double> GroupHypers::defaults() const {
  std::vector<double> group;
  for (const HyperInterface &hyper : kernels->interface.hypers)
    group.push_back(hyper.defaultValue);
  return group;
}

Status GroupHypers::check(const upd_hyper *given, size_t count) const {
  std::vector<double> group = defaults();
  return assign(std::nullopt, given, count, group);
}

Status GroupHypers::addGroup(const upd_hyper *given, size_t count) {
  std::vector<double> group = defaults();
  if (Status status = assign(groups, given, count, group); !status.ok())
    return status;
  values.insert(values.end(), group.begin(), group.end());
  ++groups;
  return {};
}

Status GroupHypers::assign(std::optional<size_t> number, const upd_hyper *given, size_t count,
                           std::vector<double> &group) const {
  if (count != 0 && !given)
    return invalidArgument(
        fmt::format("hypers{} is null, but hyper_count is {}", ofGroup(number), count));
  std::vector<bool> named(names.size());
  for (size_t i = 0; i < count; ++i) {
    size_t index;
    if (Status status = find(given[i].name, index); !status.ok())
      return status;
    if (named[index])
      return invalidArgument(fmt::format("hyperparameter `{}`{} is given twice; give it once",
                                         names[index], ofGroup(number)));
    named[index] = true;
    group[index] = given[i].value;
  }
  return validate(group.data());
}

Status GroupHypers::set(size_t group, const upd_hyper *given, size_t count) {
  if (Status status = checkGroup(group); !status.ok())
    return status;
  std::vector<double> changed(of(group), of(group) + names.size());
  if (Status status = assign(group, given, count, changed); !status.ok())
    return status;
  std::copy(changed.begin(), changed.end(),
            values.begin() + static_cast<std::ptrdiff_t>(group * names.size()));
  return {};
}

Status GroupHypers::get(size_t group, const char *name, double &value) const {
  size_t index;
  if (Status status = find(group, name, index); !status.ok())
    return status;
  value = of(group)[index];
  return {};
}

void GroupHypers::swap(GroupHypers &other) noexcept {
  kernels.swap(other.kernels);
  names.swap(other.names);
  values.swap(other.values);
  std::swap(groups, other.groups);
  std::swap(ignoring, other.ignoring);
}
