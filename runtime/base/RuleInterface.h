//===- RuleInterface.h - The description of a compiled rule -------------------------*- C++ -*-===//
// The metadata beside a rule's machine code, and its JSON form, described in docs/architecture.md.
// The runtime knows nothing else about a rule.

#ifndef UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H
#define UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H

#include "runtime/base/PlanInterface.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft::runtime {

/// The positions of the streams that every plan has. They are followed by the states, the scales of
/// states in blocks, and the temporaries.
struct StreamIndex {
  static constexpr size_t Param = 0;
  static constexpr size_t Grad = 1;
  static constexpr size_t FirstState = 2;
};

struct HyperInterface {
  std::string name;
  double defaultValue;
};

struct StateInterface {
  std::string name;
  upd_dtype dtype;
  Extent over = Extent::Element;
  TensorClass tensors = TensorClass::Any; // the tensors that have it
  bool fromStep = false;                  // the passes of its first step compute its initial value

  bool isOf(TensorClass plan) const { return tensors == TensorClass::Any || tensors == plan; }
};

/// One of a plan's streams.
struct StreamInterface {
  static constexpr uint32_t none = ~uint32_t(0);
  upd_dtype dtype;
  Extent over;
  uint32_t state = none;  // the state's number, if it is a state
  uint32_t scales = none; // the stream of its blocks' scales, if any
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
  std::vector<PlanInterface> plans;   // one for all tensors, or one for each class

  std::vector<StreamInterface> streamsOf(const PlanInterface &plan) const;
  /// The numbers of the plan's states over a tensor or group.
  std::vector<uint32_t> scalarStatesOf(const PlanInterface &plan) const;

  /// Parses JSON that may be damaged. UPD_INVALID_ARGUMENT: the message has the reason, and
  /// `result` is unchanged.
  static Status parse(std::string_view json, RuleInterface &result);
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H
