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

/// The values of a rule's hyperparameters in each group. They satisfy the rule's requirements,
/// unless these are ignored.
class GroupHypers {
public:
  explicit GroupHypers(std::shared_ptr<const Kernels> kernels);

  /// Appends a group with the rule's defaults, then `values`. Refuses unknown names, duplicate
  /// names, NaN and values that break a requirement of the rule; then appends nothing.
  Status addGroup(const upd_hyper *values, size_t count);

  /// Sets values of a group. Refuses the same, and then changes nothing.
  Status set(size_t group, const upd_hyper *given, size_t count);
  Status get(size_t group, const char *name, double &value) const;

  /// Refuses values that `addGroup` would refuse.
  Status check(const upd_hyper *given, size_t count) const;

  /// Accepts any value from now on, even NaN.
  void ignoreRequirements() { ignoring = true; }
  bool ignoresRequirements() const { return ignoring; }

  size_t groupCount() const { return groups; }
  /// The values of a group, in the rule's order.
  const double *of(size_t group) const { return values.data() + group * names.size(); }
  const std::vector<std::string> &hyperNames() const { return names; }

  void swap(GroupHypers &other) noexcept;

  /// Finds the index of a hyperparameter. Refuses unknown groups and names.
  Status find(size_t group, const char *name, size_t &index) const;

private:
  Status find(const char *name, size_t &index) const;
  Status checkGroup(size_t group) const;
  Status validate(const double *group) const;
  /// Overwrites values in `group` with the given ones, and checks the result. `number` is the
  /// group's number for messages; none outside an optimizer.
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
