//===- StepCountTensors.h - Step counts as torch has them ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_STEPCOUNTTENSORS_H
#define UPDRAFT_RUNTIME_TORCH_STEPCOUNTTENSORS_H

#include "runtime/torch/TensorMemory.h"
#include "runtime/torch/TensorView.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

namespace updraft::torch_adapter {

/// The scalars that show the step counts of parameters, and that anyone may write. Someone else
/// owns the tensors; their memory is kept. That on a GPU is neither read nor written. Threads may
/// do different parameters. A type that lacks a count, as bfloat16 lacks 257 and int16 lacks 32768,
/// shows the nearest one that it has.
class StepCountTensors {
public:
  /// `made`: the type of those that `make` makes.
  StepCountTensors(size_t params, const StepDevice &on, at::ScalarType made)
      : tensors(params), places(params), on(on), typeOfMade(made) {}

  /// Whether counts on the CPU may have a type.
  static bool canHave(at::ScalarType type);
  at::ScalarType madeType() const { return typeOfMade; }

  /// The tensor of a parameter, which may have died; nothing where there was none.
  const WatchedTensor &of(size_t param) const { return tensors[param]; }
  void set(size_t param, const at::Tensor &count);
  /// Uses memory of `madeType()` for the count of a parameter, without a tensor yet.
  void set(size_t param, void *count, std::shared_ptr<void> memory);

  /// The tensors of several parameters; new ones where there is none. What has no memory yet gets
  /// the count that `counts` has, which is of every parameter.
  std::vector<at::Tensor> make(const std::vector<int64_t> &params,
                               const std::vector<int64_t> &counts);

  struct Found {
    bool moved = false; ///< what was a step count has other memory or another type than before, as
                        ///< `.data = …` gives it, or is lazily negated
    bool changed = false; ///< one was written
  };
  /// Compares those of parameters in [begin, end) with `counts`, which has that of every parameter.
  /// Python must not run.
  Found look(size_t begin, size_t end, const std::vector<int64_t> &counts) const;

  /// Whether the parameter has one, which is not `count`.
  bool isChanged(size_t param, int64_t count) const;
  double valueOf(size_t param) const;

  /// Those of some parameters, before `write`.
  void readVersions(std::span<const uint32_t> some) const {
    if (any)
      torch_adapter::readVersions(tensors, some);
  }
  /// Sets that of a parameter, if it has one.
  void write(size_t param, int64_t count) const;

private:
  struct Place {
    void *data = nullptr;
    at::ScalarType type = at::kFloat;
    std::shared_ptr<void> memory; ///< keeps `data`
  };

  bool hasMoved(size_t param) const;

  std::vector<WatchedTensor> tensors;
  std::vector<Place> places; ///< what a tensor is over, whether it lives or not
  StepDevice on;
  at::ScalarType typeOfMade;
  bool any = false;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_STEPCOUNTTENSORS_H
