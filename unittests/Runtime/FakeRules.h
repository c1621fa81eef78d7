//===- FakeRules.h - Rules written by hand, for tests of the runtime ----------------*- C++ -*-===//
// Functions with the interface of compiled code, to test the runtime without a compiler.

#ifndef UPDRAFT_UNITTESTS_RUNTIME_FAKERULES_H
#define UPDRAFT_UNITTESTS_RUNTIME_FAKERULES_H

#include "runtime/base/Kernels.h"
#include "runtime/cpu/CpuOptimizer.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::runtime::test {

/// Hyperparameters lr = 0.1 (at least 0) and momentum = 0.5; the state `buf` is the gradient at the
/// first step, and momentum * buf + grad later; param -= lr * buf. All f32.
std::shared_ptr<const Kernels> momentumRule();

/// The state `size` (f32) starts at hyperparameter lr = 0.25 and the state `last` (bf16) at 1; size
/// doubles, last becomes 2, and param -= size (after doubling) * grad.
std::shared_ptr<const Kernels> initialRule();

/// No state: param += 1 + 1000 * first. In f64, with two sweeps of which the second adds 0.5.
std::shared_ptr<const Kernels> countingRule();

/// Skips the step if hyperparameter `stop` is not 0; else counts its steps in the state `n`.
std::shared_ptr<const Kernels> skippingRule();

/// Numbers the streams and scalar states of each plan of a rule written by hand: the parameter, the
/// gradient, the states, the scales of blocks, then the temporaries, which the plans have already.
void listStreams(RuleInterface &rule);

/// One tensor and its memory.
template <typename Element> struct TestTensor {
  std::vector<Element> data;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; // empty: row-major

  explicit TestTensor(std::vector<int64_t> sizes, Element value = {}) : shape(std::move(sizes)) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    data.assign(static_cast<size_t>(count), value);
  }
  upd_tensor view(upd_dtype dtype = sizeof(Element) == 8 ? UPD_F64 : UPD_F32) {
    upd_tensor tensor{};
    tensor.data = data.data();
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    tensor.rank = static_cast<int32_t>(shape.size());
    tensor.dtype = dtype;
    tensor.device = UPD_CPU;
    return tensor;
  }
};

/// Identified only by its rank.
inline upd_tensor absentGradient() {
  static float data = 7;
  upd_tensor tensor{};
  tensor.data = &data;
  tensor.dtype = static_cast<upd_dtype>(-1);
  tensor.rank = UPD_ABSENT;
  return tensor;
}

inline upd_group groupOf(const std::vector<upd_tensor> &params) {
  upd_group group{};
  group.params = params.data();
  group.param_count = params.size();
  return group;
}

/// An optimizer over one group. Fails the test if creating it fails.
std::unique_ptr<Optimizer> makeOptimizer(std::shared_ptr<const Kernels> kernels,
                                         const std::vector<upd_tensor> &params,
                                         const upd_pool *pool = nullptr);

/// "ok", or the message of a failed call.
std::string textOf(const Status &status);

} // namespace updraft::runtime::test

#endif // UPDRAFT_UNITTESTS_RUNTIME_FAKERULES_H
