//===- updraft/Rule.h - Compiled rules ----------------------------------------------*- C++ -*-===//
// A rule comes from a package (updraft/Package.h) or from the compiler (updraft/Compiler.h).

#ifndef UPDRAFT_RULE_H
#define UPDRAFT_RULE_H

#include "updraft-c/rule.h"
#include "updraft/Result.h"
#include "updraft/Span.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace updraft {
inline namespace v1 {

/// The value of a hyperparameter.
struct Hyper {
  std::string name;
  double value;
};

namespace detail {
/// The same for the C API, which points to the names in `hypers`.
inline std::vector<upd_hyper> hypersOf(Span<const Hyper> hypers) {
  std::vector<upd_hyper> result;
  result.reserve(hypers.size());
  for (const Hyper &hyper : hypers)
    result.push_back({hyper.name.c_str(), hyper.value});
  return result;
}
} // namespace detail

/// A compiled rule. It never changes.
class Rule {
public:
  struct HyperInfo {
    std::string_view name;
    double defaultValue;
    bool decidesFlag; // some values need another compiled rule
  };
  struct StateInfo {
    std::string_view name;
    upd_dtype dtype;
    upd_extent extent;
    upd_tensors tensors; // the tensors that have it
  };
  struct ProbeInfo {
    std::string_view name; // all buckets of a histogram have its name
    double end;            // of a bucket (upd_rule_probe_end); else NaN
  };
  struct StaticInfo {
    std::string_view name;
    std::string_view value;
  };

  /// Takes ownership of a rule of the C API.
  explicit Rule(upd_rule *owned = nullptr) : rule(owned) {}

  upd_rule *get() const { return rule.get(); }

  std::string_view name() const { return detail::viewOf(upd_rule_name(get())); }
  upd_origin origin() const { return upd_rule_origin(get()); }
  upd_dtype paramDtype() const { return upd_rule_param_dtype(get()); }
  upd_dtype gradDtype() const { return upd_rule_grad_dtype(get()); }
  upd_dtype computeDtype() const { return upd_rule_compute_dtype(get()); }
  upd_device device() const { return upd_rule_device(get()); }
  std::string_view target() const { return detail::viewOf(upd_rule_target(get())); }
  std::string_view numerics() const { return detail::viewOf(upd_rule_numerics(get())); }
  upd_extent dependsOn() const { return upd_rule_depends_on(get()); }
  bool usesRows() const { return upd_rule_uses_rows(get()) != 0; }
  const upd_descriptor *descriptor() const { return upd_rule_descriptor(get(), nullptr); }
  /// The descriptor as JSON.
  std::string_view interfaceJson() const { return detail::viewOf(upd_rule_interface(get())); }

  std::vector<HyperInfo> hypers() const {
    std::vector<HyperInfo> result;
    for (size_t i = 0, count = upd_rule_hyper_count(get()); i < count; ++i)
      result.push_back({detail::viewOf(upd_rule_hyper_name(get(), i)),
                        upd_rule_hyper_default(get(), i),
                        upd_rule_hyper_decides_flag(get(), i) != 0});
    return result;
  }
  std::vector<StateInfo> states() const {
    std::vector<StateInfo> result;
    for (size_t i = 0, count = upd_rule_state_count(get()); i < count; ++i)
      result.push_back({detail::viewOf(upd_rule_state_name(get(), i)),
                        upd_rule_state_dtype(get(), i), upd_rule_state_extent(get(), i),
                        upd_rule_state_tensors(get(), i)});
    return result;
  }
  /// The numbers of a row of probes.
  std::vector<ProbeInfo> probes() const {
    std::vector<ProbeInfo> result;
    for (size_t i = 0, count = upd_rule_probe_count(get()); i < count; ++i)
      result.push_back(
          {detail::viewOf(upd_rule_probe_name(get(), i)), upd_rule_probe_end(get(), i)});
    return result;
  }
  std::vector<StaticInfo> statics() const {
    std::vector<StaticInfo> result;
    for (size_t i = 0, count = upd_rule_static_count(get()); i < count; ++i)
      result.push_back({detail::viewOf(upd_rule_static_name(get(), i)),
                        detail::viewOf(upd_rule_static_value(get(), i))});
    return result;
  }

  /// Checks hyperparameters as Optimizer::create does for a group.
  Result<void> checkHypers(Span<const Hyper> hypers) const {
    const std::vector<upd_hyper> list = detail::hypersOf(hypers);
    return Result<void>(upd_rule_check_hypers(get(), list.data(), list.size()));
  }

private:
  struct Release {
    void operator()(upd_rule *owned) const { upd_rule_release(owned); }
  };
  std::unique_ptr<upd_rule, Release> rule;
};

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_RULE_H
