//===- JointStep.h - The step that Python takes -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H
#define UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H

#include "runtime/torch/GroupStepper.h"

#include <exception>

namespace updraft::torch_adapter {

/// One step of each of several groups, or of none. The caller keeps others from stepping any of
/// them during a step.
class JointStep : public torch::CustomClassHolder {
public:
  explicit JointStep(std::vector<c10::intrusive_ptr<GroupStepper>> steppers)
      : steppers(std::move(steppers)) {}

  enum Outcome : int {
    Done = 0,
    Fresh = 1,  ///< done, and parameters have got their states
    Moved = 2,  ///< nothing is done: a parameter, state or step count has other memory than before,
                ///< or another layout or type, or is none any more
    Refused = 3 ///< nothing is done: see `raise`
  };

  /// Steps every parameter that has a gradient. Neither a gradient nor `.grad` is written. The
  /// thread holds the interpreter's lock, which is released once gradients have been looked at.
  Outcome step() noexcept;
  /// Throws what the last step has refused.
  void raise();

private:
  Outcome lookAtAll(size_t &taken) noexcept;

  std::vector<c10::intrusive_ptr<GroupStepper>> steppers;
  std::exception_ptr refusal;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H
