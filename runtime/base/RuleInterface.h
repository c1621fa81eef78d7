//===- RuleInterface.h - What a compiled rule says about itself ---------------------*- C++ -*-===//
// The metadata beside a rule's machine code, and its JSON form of docs/architecture.md. All that
// the runtime knows about a rule is here; the rest is code.

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

/// Positions of the streams that every plan has; its states follow, then the scales of those that
/// have blocks, then its temporaries.
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
  TensorClass tensors = TensorClass::Any; // which have it
  bool fromStep = false;                  // the passes of its first step give it its initial value

  bool isOf(TensorClass plan) const { return tensors == TensorClass::Any || tensors == plan; }
};

/// One of a plan's streams.
struct StreamInterface {
  static constexpr uint32_t none = ~uint32_t(0);
  upd_dtype dtype;
  Extent over;
  uint32_t state = none;  // its number, if it is one
  uint32_t scales = none; // the stream of the scales of its blocks, if it has any
};

struct RuleInterface {
  std::string name;
  upd_dtype compute = UPD_F32; // f32 or f64
  std::string numerics;
  std::string gpu; // the target that it was compiled for; empty: a CPU
  std::vector<std::pair<std::string, std::string>> statics; // flag, value as written
  std::vector<HyperInterface> hypers;
  upd_dtype param = UPD_F32;
  upd_dtype grad = UPD_F32;
  std::vector<StateInterface> states;
  Extent dependsOn = Extent::Element; // what an element's update does: Element, Tensor or Group
  std::vector<std::string> messages;  // of the requirements, in the order of `validate`'s results
  std::vector<PlanInterface> plans;   // one for all tensors, or one for each class

  std::vector<StreamInterface> streamsOf(const PlanInterface &plan) const;
  /// The numbers of the states over a tensor or group that the plan has.
  std::vector<uint32_t> scalarStatesOf(const PlanInterface &plan) const;

  /// Reads JSON that may be damaged: UPD_INVALID_ARGUMENT says what is wrong, and `result` is then
  /// as it was.
  static Status parse(std::string_view json, RuleInterface &result);
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H
