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

/// The scalar tensors of the parameters' step counts, which the user may write. The user owns the
/// tensors; this class keeps their memory alive. On a GPU, `set` must come before `make`, and
/// counts can't be read or written. Threads may process different parameters. If a type can't
/// represent a count (bfloat16 has no 257, int16 no 32768), the tensor has the nearest value of the
/// type.
class StepCountTensors {
public:
  /// `made` is the type of new step counts.
  StepCountTensors(size_t params, const StepDevice &on, at::ScalarType made)
      : tensors(params), places(params), on(on), typeOfMade(made) {}

  /// Whether step counts on the CPU may have this type.
  static bool canHave(at::ScalarType type);
  at::ScalarType madeType() const { return typeOfMade; }

  /// The tensor of a parameter, which may have been freed. Empty if there was none.
  const WatchedTensor &of(size_t param) const { return tensors[param]; }
  void set(size_t param, const at::Tensor &count);
  /// Uses memory for a step count of type `madeType()`, without a tensor so far.
  void set(size_t param, void *count, std::shared_ptr<void> memory);

  /// Returns the tensors of several parameters. Creates those that don't exist or were freed. New
  /// memory gets the parameter's value in `counts`, which has one value for every parameter of the
  /// optimizer.
  std::vector<at::Tensor> make(const std::vector<int64_t> &params,
                               const std::vector<int64_t> &counts);

  struct Found {
    bool moved = false;   ///< a step count tensor has other memory or another type than before, as
                          ///< after `.data = …`, or is lazily negated
    bool changed = false; ///< a step count was written
  };
  /// Compares the step counts of parameters [begin, end) with `counts`, which has one value for
  /// every parameter. The caller holds the GIL.
  Found look(size_t begin, size_t end, const std::vector<int64_t> &counts) const;

  /// Whether the parameter has a step count tensor whose value isn't `count`.
  bool isChanged(size_t param, int64_t count) const;
  double valueOf(size_t param) const;

  /// Reads the versions of some parameters' tensors into the cache. Called before `write`.
  void readVersions(std::span<const uint32_t> some) const {
    if (any)
      torch_adapter::readVersions(tensors, some);
  }
  /// Sets the step count tensor of a parameter, if it has one.
  void write(size_t param, int64_t count) const;

private:
  struct Place {
    void *data = nullptr;
    at::ScalarType type = at::kFloat;
    std::shared_ptr<void> memory; ///< keeps `data` alive
  };

  bool hasMoved(size_t param) const;

  std::vector<WatchedTensor> tensors;
  std::vector<Place> places; ///< memory of the tensors, kept after a tensor is freed
  StepDevice on;
  at::ScalarType typeOfMade;
  bool any = false;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_STEPCOUNTTENSORS_H
