//===- JointStep.h - Several groups stepped, all or none ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H
#define UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H

#include "runtime/torch/GroupStepper.h"

namespace updraft::torch_adapter {

/// The caller keeps others from stepping any of them during a step.
class JointStep : public torch::CustomClassHolder {
public:
  explicit JointStep(std::vector<c10::intrusive_ptr<GroupStepper>> steppers)
      : steppers(std::move(steppers)) {}

  /// One step of each, as GroupStepper::step, whose outcomes it returns: Moved where one is, and
  /// then none is stepped; else Fresh where one is. Nor is one stepped if another refuses.
  int64_t step();

private:
  std::vector<c10::intrusive_ptr<GroupStepper>> steppers;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H
