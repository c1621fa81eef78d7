//===- JointStep.cpp - The step that Python takes ---------------------------------------------===//

#include "runtime/torch/JointStep.h"

#include "runtime/timeline/Span.h"
#include "runtime/torch/InterpreterLock.h"

#include <utility>

using namespace updraft::torch_adapter;

/// Returns Done, or why the step can't be taken. `taken` becomes the number of steppers that have
/// taken gradients.
JointStep::Outcome JointStep::lookAtAll(size_t &taken) noexcept {
  try {
    for (; taken < steppers.size(); ++taken)
      if (!steppers[taken]->look())
        return Moved;
    return Done;
  } catch (...) {
    refusal = std::current_exception();
    return Refused;
  }
}

JointStep::Outcome JointStep::step() noexcept {
  const timeline::Span span("step", "step");
  size_t taken = 0, applied = 0;
  Outcome outcome = lookAtAll(taken);
  const InterpreterPause pause;
  try {
    for (size_t i = 0; i < taken && outcome == Done; ++i)
      steppers[i]->prepare();
    if (outcome == Done)
      for (; applied < taken; ++applied)
        if (steppers[applied]->apply(/*countVersions=*/true))
          outcome = Fresh;
  } catch (...) {
    refusal = std::current_exception();
    outcome = Refused;
  }
  for (; applied < taken; ++applied)
    steppers[applied]->abandon();
  return outcome;
}

void JointStep::raise() {
  if (refusal)
    std::rethrow_exception(std::exchange(refusal, nullptr));
}
