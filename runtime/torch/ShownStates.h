//===- ShownStates.h - States that others have, too ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_SHOWNSTATES_H
#define UPDRAFT_RUNTIME_TORCH_SHOWNSTATES_H

#include "runtime/torch/TensorMemory.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace updraft::torch_adapter {

/// The tensors over each parameter's states that someone else owns, which lasts as long as they do:
/// their versions count, and they may get other memory. Threads may look at, or bump, different
/// parameters.
class ShownStates {
public:
  explicit ShownStates(size_t params) : params(params) {}

  /// `state` is one from now on, where it is.
  void show(size_t param, const at::Tensor &state);
  /// `state` is none any more.
  void hide(size_t param, const WatchedTensor &state);

  /// Whether a state of parameters in [begin, end) was given other memory, as `state.data = …` and
  /// `share_memory_()` do, or another size in the same, as `resize_` may. Python must not run.
  bool haveMoved(size_t begin, size_t end) const;

  /// Those of some parameters, before `bumpVersions`.
  void readVersions(std::span<const uint32_t> some) const {
    for (const Column &column : columns)
      torch_adapter::readVersions(column.states, some);
  }

  void bumpVersions(size_t param) const {
    for (const Column &column : columns)
      bumpVersion(column.states[param]);
  }

private:
  struct Place {
    const void *data;
    int64_t elements;
    bool operator==(const Place &) const = default;
  };
  /// The first state of each parameter, the second of each and so on: nothing where there are
  /// fewer.
  struct Column {
    std::vector<WatchedTensor> states;
    std::vector<Place> places; ///< where they were
  };

  static Place placeOf(const at::TensorImpl &state);

  size_t params;
  std::vector<Column> columns;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_SHOWNSTATES_H
