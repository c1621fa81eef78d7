//===- Stepper.h - An optimizer to be timed -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_STEPPER_H
#define UPDRAFT_TOOLS_GPUSUITE_STEPPER_H

#include "Device.h"
#include "Values.h"
#include "tools/harness/Optimizer.h"

namespace updraft::suite {

/// Parameters and gradients filled with small numbers on the device, and an optimizer over them
/// that has taken one step.
class Stepper {
public:
  /// Throws Skipped if the device doesn't have enough memory.
  Stepper(Device &device, const harness::RuleRequest &request, std::vector<TensorShape> shapes);

  void step() { harness::check(upd_optimizer_step(optimizer.get(), grads.data(), grads.size())); }

  int64_t elements() const { return total; }
  /// The memory traffic of a step per element, if it reads every stream and writes all except the
  /// gradient.
  int64_t bytesPerElement() const;
  /// The streams of the first tensor.
  std::vector<TouchedStream> streams() const;

private:
  std::vector<upd_tensor> makeTensors(upd_dtype dtype, double scale);

  Device &device;
  std::vector<TensorShape> shapes;
  int64_t total = 0;
  harness::Rule rule;
  std::vector<std::unique_ptr<Buffer>> memory;
  std::vector<upd_tensor> params, grads;
  harness::Optimizer optimizer;
};

/// The parameters of torchvision's resnet50, in its order.
std::vector<TensorShape> resnet50();
std::vector<TensorShape> smallTensors(int64_t count);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_STEPPER_H
