//===- ParameterTable.h - The parameters of a step ----------------------------------*- C++ -*-===//
// Stores torch's data about the parameters of a compiled rule: memory and layout, gradient, step
// count, states that Python has, versions. The data are stored in arrays, because cache misses
// bound the step of thousands of small parameters.

#ifndef UPDRAFT_RUNTIME_TORCH_PARAMETERTABLE_H
#define UPDRAFT_RUNTIME_TORCH_PARAMETERTABLE_H

#include "runtime/torch/ShownStates.h"
#include "runtime/torch/StepCountTensors.h"
#include "runtime/torch/TensorMemory.h"
#include "runtime/torch/TensorView.h"
#include "updraft-c/types.h"

#include <ATen/core/Tensor.h>

#include <atomic>
#include <span>
#include <utility>
#include <vector>

namespace updraft::torch_adapter {

class ParameterTable {
public:
  /// Keeps the parameters' memory alive, but not the tensors: their owner does. Throws if one isn't
  /// a writable tensor on `on`. New step counts have the type `countType`.
  ParameterTable(const std::vector<at::Tensor> &params, const StepDevice &on,
                 at::ScalarType countType);

  size_t size() const { return entries.size(); }
  /// Returns views of the parameters. Complex parameters are viewed as real pairs. Valid as long as
  /// the table exists.
  std::vector<upd_tensor> views() const;
  bool isComplex(size_t param) const { return entries[param].complex; }
  /// The element type of all parameters.
  upd_dtype elementType() const { return type; }
  at::ScalarType scalarType(size_t param) const { return entries[param].dtype.toScalarType(); }
  at::IntArrayRef shape(size_t param) const { return sizes(param).slice(0, rankOf(param)); }
  /// The sizes and strides of a parameter. For a complex parameter, those of its view as real
  /// pairs.
  at::IntArrayRef sizes(size_t param) const {
    return {entries[param].sizes, static_cast<size_t>(entries[param].rank)};
  }
  at::IntArrayRef strides(size_t param) const {
    return {entries[param].sizes + entries[param].rank, static_cast<size_t>(entries[param].rank)};
  }

  //===--------------------------------------------------------------------------------------===//
  // A step
  //===--------------------------------------------------------------------------------------===//

  struct Found {
    bool moved = false;   ///< a parameter, state or step count has other memory, layout or type
                          ///< than before, or a parameter was freed
    bool unusual = false; ///< a gradient was not taken yet, because it isn't a usual one
    bool counted = false; ///< a step count was written
  };
  /// Checks everything that a step of parameters [begin, end) depends on. Takes the usual
  /// gradients: dense, with the parameter's type and layout, and not lazily negated. `given` has a
  /// gradient or an undefined tensor for each parameter. If it is null, `.grad` is used, and the
  /// caller holds the GIL. Threads may process different ranges. Doesn't throw.
  ///
  /// Keeps references to the gradients' storages, not to the tensors: a second reference to a
  /// tensor that Python owns would take the GIL.
  Found look(size_t begin, size_t end, const at::Tensor *given);

  bool hasGradient(size_t param) const { return addresses[param] != nullptr; }
  bool isUnusual(size_t param) const { return addresses[param] == &unusual; }
  /// The `.grad` of a parameter. The caller holds the GIL.
  const at::Tensor &gradOf(size_t param) const { return watched[param].object()->grad(); }
  void setAbsent(size_t param) { addresses[param] = nullptr; }
  /// Sets a gradient that was unusual. Its memory has the parameter's type and layout.
  void setGradient(size_t param, const upd_tensor &grad, c10::Storage memory);
  /// The argument of upd_optimizer_prepare_addresses.
  const void *const *gradients() const { return addresses.data(); }
  /// Drops the memory of all gradients.
  void dropGradients();

  /// Called after a step of some parameters. Drops the memory of their gradients, counts the step
  /// if it ran on the CPU, and with `countVersions` bumps their versions for autograd. Threads may
  /// process different parameters. Doesn't throw.
  void stepped(std::span<const uint32_t> params, bool countVersions);
  /// Appends to `fresh` the parameters that got states since the last call. `fresh` has capacity
  /// for all parameters. Returns whether there are any.
  bool takeFresh(std::vector<int64_t> &fresh);
  /// Records that Python knows the states of a parameter.
  void setKnown(size_t param) { origins[param] = StateOrigin::Known; }
  bool hasNoStates(size_t param) const { return origins[param] == StateOrigin::None; }

  // Indexed by parameter.
  std::vector<int64_t> steps;  ///< the library's step counts; on a GPU, those before its steps
  StepCountTensors stepCounts; ///< on a GPU, holds the memory of all
  ShownStates shownStates;

private:
  struct Entry {
    const void *data;
    const int64_t *sizes; ///< followed by strides; of real pairs if complex
    int32_t rank;
    caffe2::TypeMeta dtype;
    bool complex;
  };
  /// Whether the parameter has states. New: since the last call of `takeFresh`.
  enum class StateOrigin : uint8_t { None, New, Known };

  size_t rankOf(size_t param) const {
    return static_cast<size_t>(entries[param].rank - entries[param].complex);
  }
  void prefetchParams(size_t begin, size_t end) const;
  Found lookAtBlock(size_t begin, size_t end, const at::Tensor *given);
  bool isUsual(const at::TensorImpl &grad, const Entry &entry) const;
  static bool hasLayout(const at::TensorImpl &tensor, const Entry &entry);

  /// Placeholder addresses of gradients that have no address.
  static constexpr char unusual = 0, noElements = 0;

  std::vector<WatchedTensor> watched;
  std::vector<Entry> entries;
  std::vector<int64_t> dimensions;
  std::vector<c10::Storage> memory;    ///< of the parameters
  std::vector<const void *> addresses; ///< of the gradients; null if absent
  std::vector<c10::Storage> gradMemory;
  std::vector<StateOrigin> origins;
  std::atomic<bool> anyFresh = false;
  upd_dtype type = UPD_F32; ///< element type of all parameters
  StepDevice on;
  c10::DispatchKeySet usualKeys; ///< dispatch keys of a dense tensor on that device
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_PARAMETERTABLE_H
