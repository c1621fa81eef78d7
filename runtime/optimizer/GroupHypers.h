//===- GroupHypers.h - Hyperparameters of parameter groups --------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_GROUPHYPERS_H
#define UPDRAFT_RUNTIME_OPTIMIZER_GROUPHYPERS_H

#include "runtime/base/Kernels.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace updraft::runtime {

/// The values of a rule's hyperparameters, for each group: such as the rule allows, unless its
/// requirements are ignored.
class GroupHypers {
public:
  explicit GroupHypers(std::shared_ptr<const Kernels> kernels);

  /// Appends a group: the rule's defaults, then `values`. Refuses unknown names, a name twice, NaN,
  /// and what breaks a requirement of the rule; nothing is appended then.
  Status addGroup(const upd_hyper *values, size_t count);

  /// The same for values of a group that is there, and nothing is changed if they are refused.
  Status set(size_t group, const upd_hyper *given, size_t count);
  Status get(size_t group, const char *name, double &value) const;

  /// Refuses values that `addGroup` would refuse.
  Status check(const upd_hyper *given, size_t count) const;

  /// Takes any value from now on, NaN too.
  void ignoreRequirements() { ignoring = true; }
  bool ignoresRequirements() const { return ignoring; }

  size_t groupCount() const { return groups; }
  /// In the order of the rule.
  const double *of(size_t group) const { return values.data() + group * names.size(); }
  const std::vector<std::string> &hyperNames() const { return names; }

  void swap(GroupHypers &other) noexcept;

  /// The index of a hyperparameter of a group that is there.
  Status find(size_t group, const char *name, size_t &index) const;

private:
  Status find(const char *name, size_t &index) const;
  Status checkGroup(size_t group) const;
  Status validate(const double *group) const;
  /// Puts the given values over those of `group`, which will be number `number`; none: of no
  /// optimizer.
  Status assign(std::optional<size_t> number, const upd_hyper *given, size_t count,
                std::vector<double> &group) const;
  std::vector<double> defaults() const;

  std::shared_ptr<const Kernels> kernels;
  std::vector<std::string> names;
  std::vector<double> values;
  size_t groups = 0;
  bool ignoring = false;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_GROUPHYPERS_H
