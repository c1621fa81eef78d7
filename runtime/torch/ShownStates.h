//===- ShownStates.h - States that others have, too ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_SHOWNSTATES_H
#define UPDRAFT_RUNTIME_TORCH_SHOWNSTATES_H

#include "runtime/torch/TensorMemory.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace updraft::torch_adapter {

/// The tensors of each parameter's states that Python or another owner has, as long as that owner
/// keeps them. Their versions must be bumped, and they may get other memory. Threads may check or
/// bump different parameters.
class ShownStates {
public:
  explicit ShownStates(size_t params) : params(params) {}

  /// Adds `state`, and remembers its memory.
  void show(size_t param, const at::Tensor &state);
  /// Removes `state`.
  void hide(size_t param, const WatchedTensor &state);

  /// Whether a state of parameters [begin, end) has other memory than before, as after `state.data
  /// = …` or `share_memory_()`, or another size in the same memory, as after `resize_`. The caller
  /// holds the GIL.
  bool haveMoved(size_t begin, size_t end) const;

  /// Reads the versions of some parameters' states into the cache. Called before `bumpVersions`.
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
  /// Column i holds the i-th state of each parameter. Empty for a parameter with fewer states.
  struct Column {
    std::vector<WatchedTensor> states;
    std::vector<Place> places; ///< their memory when they were added
  };

  static Place placeOf(const at::TensorImpl &state);

  size_t params;
  std::vector<Column> columns;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_SHOWNSTATES_H
