//===- RuleInterface.h - The description of a compiled rule -------------------------*- C++ -*-===//
// The content of the descriptor in a rule's object (updraft-c/descriptor.h). The runtime knows
// nothing else about a rule.

#ifndef UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H
#define UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H

#include "runtime/base/PlanInterface.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft::runtime {

struct HyperInterface {
  std::string name;
  double defaultValue;
};

struct StateInterface {
  std::string name;
  upd_dtype dtype;
  Extent over = Extent::Element;
  TensorClass tensors = TensorClass::Any; // the tensors that have it
  bool fromStep = false;                  // the sweeps of its first step compute its initial value

  bool isOf(TensorClass plan) const { return tensors == TensorClass::Any || tensors == plan; }
};

struct ProbeInterface {
  std::string name;
  std::optional<double> end = {}; // of a bucket of a histogram; infinity for its last one
};

/// As upd_derived_record.
struct DerivedInterface {
  std::string flag;
  std::vector<uint32_t> hypers;
  uint32_t message = 0;
};

struct RuleInterface {
  std::string name;
  upd_dtype compute = UPD_F32; // f32 or f64
  std::string numerics;
  std::string gpu; // the target for which it was compiled; empty: a CPU
  std::vector<std::pair<std::string, std::string>> statics; // flag, value as written
  std::vector<HyperInterface> hypers;
  upd_dtype param = UPD_F32;
  upd_dtype grad = UPD_F32;
  std::vector<StateInterface> states;
  Extent dependsOn = Extent::Element; // an update depends on this unit: Element, Tensor or Group
  std::vector<std::string> messages;  // of requirements, in the order of results of `validate`
  /// One for all tensors, or one for each class. If there are probes, as many plans for probed
  /// steps follow, in the same order.
  std::vector<PlanInterface> plans;
  std::vector<DerivedInterface> derived;
  std::vector<ProbeInterface> probes;

  /// The number of plans for steps that aren't probed.
  size_t unprobedPlans() const { return probes.empty() ? plans.size() : plans.size() / 2; }
  /// The number of a plan for probed steps, given that of the one for other steps.
  size_t probedPlanOf(size_t plan) const { return plan + unprobedPlans(); }

  /// Whether one of the plans uses rows.
  bool usesRows() const;
  /// Whether a plan has products, so that the code has the functions for them.
  bool multiplies() const;
  /// Whether a plan has bf16 products, so that code for CPUs has the function for them.
  bool hasBF16Products() const;

  /// Reads a descriptor (updraft-c/descriptor.h) that may be damaged. UPD_INVALID_ARGUMENT: the
  /// message has the reason, and `result` is unchanged. In an accepted one, every number is that of
  /// something that exists.
  static Status read(std::string_view descriptor, RuleInterface &result);

  /// Returns the descriptor that `read` accepts.
  std::string write() const;

  /// Returns the interface as JSON, for people and for other programs. Nothing reads it back.
  std::string json() const;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H
