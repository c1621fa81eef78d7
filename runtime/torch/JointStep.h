//===- JointStep.h - The step that Python takes -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H
#define UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H

#include "runtime/torch/GroupStepper.h"

#include <exception>

namespace updraft::torch_adapter {

/// Steps several groups, or none if one refuses. The caller keeps other threads from stepping any
/// of them meanwhile.
class JointStep : public ::torch::CustomClassHolder {
public:
  explicit JointStep(std::vector<c10::intrusive_ptr<GroupStepper>> steppers)
      : steppers(std::move(steppers)) {}

  enum Outcome : int {
    Done = 0,
    Fresh = 1,  ///< done, and some parameters got states
    Moved = 2,  ///< nothing was done: a parameter, state or step count has other memory, another
                ///< layout or another type than before, or was freed
    Refused = 3 ///< `raise` throws the error. Nothing was done, unless a device failed while a
                ///< group was applied: groups before it were stepped
  };

  /// Steps every parameter that has a gradient. Writes neither gradients nor `.grad`. The thread
  /// holds the GIL, which is released after the gradients are taken.
  Outcome step() noexcept;
  /// Throws the error of the last step, whose outcome was `Refused`.
  void raise();

private:
  Outcome lookAtAll(size_t &taken) noexcept;

  std::vector<c10::intrusive_ptr<GroupStepper>> steppers;
  std::exception_ptr refusal;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_JOINTSTEP_H
