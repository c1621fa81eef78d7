//===- SteppedSides.h - A rule stepped on the CPU and on a device -------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_STEPPEDSIDES_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_STEPPEDSIDES_H

#include "Sides.h"
#include "SteppedOn.h"
#include "runtime/base/DType.h"
#include "runtime/capi/Handles.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace updraft::differential {

struct GroupTensor {
  std::vector<int64_t> dimensions;
  size_t group;
  size_t offset = 0; ///< offset of its memory on the device, in elements
};

/// An optimizer of two groups, and the memory of its tensors.
struct SteppedSide {
  RuleHandle rule;
  OptimizerHandle optimizer;
  std::vector<void *> params, grads;
  uint64_t probeCursor = 0;
};

/// The probes of a tensor in a step.
struct ProbedStep {
  int64_t step;
  uint64_t tensor;
  std::vector<double> values;
};

/// Both sides of a case. Parameters, states, and probes must be bitwise equal.
class SteppedSides {
public:
  SteppedSides(const RuleCase &ruleCase, const SteppedOn &on, std::vector<GroupTensor> tensors)
      : ruleCase(ruleCase), on(on), tensors(std::move(tensors)), random(ruleCase.seed + 1),
        present(this->tensors.size(), true) {}

  testing::AssertionResult make();
  testing::AssertionResult step(float foundInf = 0);
  /// Steps without comparing.
  testing::AssertionResult stepBoth(float foundInf = 0);
  testing::AssertionResult compare();
  /// Sets it in every group, on both sides.
  testing::AssertionResult setHyper(const std::string &name, double value);
  /// Binds it to memory on both sides.
  testing::AssertionResult setHyperInMemory(const std::string &name, float value);
  /// Makes the device count the steps of every tensor in separate memory.
  testing::AssertionResult bindSteps();
  /// Moves every gradient to other memory on the device, `offset` elements after an address that is
  /// aligned for any access.
  void moveGradients(size_t offset);
  void setPresent(size_t tensor, bool isPresent) { present[tensor] = isPresent; }
  testing::AssertionResult probeEvery(uint64_t steps);
  /// How many rows of probes each side had added, when `compare` ran last.
  size_t rowsOfLastComparison() const { return comparedRows; }
  /// Saves each side and loads the other's file.
  testing::AssertionResult exchangeFiles();
  /// From now on, the device's states are in the caller's memory.
  testing::AssertionResult bindStates();
  upd_optimizer *onDevice() { return device.optimizer.get(); }
  upd_tensor gradientOnDevice(size_t tensor) const {
    return view(tensor, device.grads[tensor], interface().grad, on.kind);
  }

private:
  const runtime::RuleInterface &interface() const { return cpu.rule->kernels->interface; }
  upd_tensor view(size_t tensor, void *data, upd_dtype dtype, upd_device kind) const;
  upd_tensor number(const void *data, upd_device kind) const;
  size_t elementsOf(size_t tensor) const;
  size_t bytesOf(size_t tensor, upd_dtype dtype) const {
    return elementsOf(tensor) * runtime::sizeOf(dtype);
  }
  std::vector<char> randomValues(size_t count, upd_dtype dtype);
  void *allocate(size_t bytes, size_t offsetBytes = 0);
  void *copyToDevice(const void *data, size_t bytes, size_t offsetBytes = 0);
  testing::AssertionResult makeOptimizer(SteppedSide &side, upd_device kind);
  /// Those of the steps since the last call, by step and tensor.
  testing::AssertionResult readProbes(SteppedSide &side, std::vector<ProbedStep> &rows) const;
  testing::AssertionResult compareProbes();
  static testing::AssertionResult require(const runtime::Status &status) {
    return status.ok() ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << status.message();
  }
  static testing::AssertionResult require(upd_status status) {
    return status == UPD_OK ? testing::AssertionSuccess()
                            : testing::AssertionFailure() << upd_last_error();
  }

  const RuleCase &ruleCase;
  const SteppedOn &on;
  std::vector<GroupTensor> tensors;
  std::mt19937_64 random;
  std::vector<bool> present; ///< tensors that have a gradient
  std::deque<std::vector<char>> memory;
  SteppedSide cpu, device;
  size_t comparedRows = 0;
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_STEPPEDSIDES_H
