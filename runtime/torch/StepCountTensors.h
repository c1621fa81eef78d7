//===- StepCountTensors.h - Step counts as torch has them ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_STEPCOUNTTENSORS_H
#define UPDRAFT_RUNTIME_TORCH_STEPCOUNTTENSORS_H

#include "runtime/torch/TensorMemory.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace updraft::torch_adapter {

/// The scalars, float32 or float64, that show the step counts of parameters, and that anyone may
/// write; those on a GPU are kept, and neither read nor written. Threads may do different
/// parameters.
class StepCountTensors {
public:
  explicit StepCountTensors(size_t params) : tensors(params) {}

  /// Undefined where the parameter has none.
  const at::Tensor &of(size_t param) const { return tensors[param]; }
  void set(size_t param, const at::Tensor &count) {
    tensors[param] = count;
    any = true;
  }

  /// The tensors of several parameters; of those that have none, new ones of `counts`, which has
  /// the count of every parameter.
  std::vector<at::Tensor> make(const std::vector<int64_t> &params,
                               const std::vector<int64_t> &counts);

  struct Found {
    bool moved = false; ///< what was a step count cannot be read as one: `.data = …` gives a tensor
                        ///< another type, no elements, or those of a lazily negated one
    bool changed = false; ///< one was written
  };
  /// Compares those of parameters in [begin, end) with `counts`, which has that of every parameter.
  Found look(size_t begin, size_t end, const std::vector<int64_t> &counts) const;

  /// Whether the parameter has one, which is not `count`.
  bool isChanged(size_t param, int64_t count) const;
  double valueOf(size_t param) const;

  /// Those of parameters in [begin, end), before `write`.
  void readVersions(size_t begin, size_t end) const {
    if (any)
      torch_adapter::readVersions(tensors, begin, end);
  }
  /// Sets that of a parameter, if it has one.
  void write(size_t param, int64_t count) const;

private:
  bool hasMoved(size_t param) const;

  std::vector<at::Tensor> tensors;
  bool any = false;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_STEPCOUNTTENSORS_H
