//===- ParameterTable.h - The parameters of a step ----------------------------------*- C++ -*-===//
// Everything that torch knows of the parameters that a compiled rule steps: memory and layout,
// gradient, step count, states that Python has, versions. A step reads and writes it side by side,
// because cache misses bound the step of thousands of small parameters.

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
  /// Keeps the parameters' memory, but not the parameters: their owner does. Throws if one is not a
  /// tensor on `on` that a step can write. New step counts have the type `countType`.
  ParameterTable(const std::vector<at::Tensor> &params, const StepDevice &on,
                 at::ScalarType countType);

  size_t size() const { return entries.size(); }
  /// Views of the parameters, complex ones as pairs. Valid for as long as the table.
  std::vector<upd_tensor> views() const;
  bool isComplex(size_t param) const { return entries[param].complex; }
  /// Of all parameters.
  upd_dtype elementType() const { return type; }
  at::ScalarType scalarType(size_t param) const { return entries[param].dtype.toScalarType(); }
  at::IntArrayRef shape(size_t param) const { return sizes(param).slice(0, rankOf(param)); }
  /// The sizes and strides of a parameter, or of the pairs that a complex one consists of.
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
                          ///< than before, or a parameter has died
    bool unusual = false; ///< a gradient is not taken yet, because it needs a closer look
    bool counted = false; ///< a step count was written
  };
  /// Looks once at all that a step of parameters in [begin, end) depends on. Takes their gradients:
  /// those that are dense, of the parameter's type and layout, and not lazily negated. `given` has
  /// a gradient or an undefined tensor for each parameter; null: `.grad`, while Python does not
  /// run. Threads may do parts; nothing throws.
  ///
  /// Gradients are kept by their memory: a second reference to a tensor that Python has would take
  /// the interpreter's lock.
  Found look(size_t begin, size_t end, const at::Tensor *given);

  bool hasGradient(size_t param) const { return addresses[param] != nullptr; }
  bool isUnusual(size_t param) const { return addresses[param] == &unusual; }
  /// The `.grad` of a parameter, while Python does not run.
  const at::Tensor &gradOf(size_t param) const { return watched[param].object()->grad(); }
  void setAbsent(size_t param) { addresses[param] = nullptr; }
  /// Takes a gradient that was unusual, in memory with the parameter's type and layout.
  void setGradient(size_t param, const upd_tensor &grad, c10::Storage memory);
  /// As upd_optimizer_prepare_addresses takes them.
  const void *const *gradients() const { return addresses.data(); }
  /// Drops the memory of all gradients.
  void dropGradients();

  /// Follows a step of some parameters: drops the memory of their gradients, counts the step where
  /// it was on the CPU, and with `countVersions` tells autograd. Threads may do different
  /// parameters; nothing throws.
  void stepped(std::span<const uint32_t> params, bool countVersions);
  /// Appends the parameters that have got their states in steps since the last call, if there are
  /// any, to `fresh`, which has room for all.
  bool takeFresh(std::vector<int64_t> &fresh);
  /// The states of a parameter are known to Python.
  void setKnown(size_t param) { origins[param] = StateOrigin::Known; }
  bool hasNoStates(size_t param) const { return origins[param] == StateOrigin::None; }

  // By parameter.
  std::vector<int64_t> steps;  ///< step counts that the library knows; of a GPU, before its steps
  StepCountTensors stepCounts; ///< of a GPU, the memory of all
  ShownStates shownStates;

private:
  struct Entry {
    const void *data;
    const int64_t *sizes; ///< followed by strides; of pairs if it is complex
    int32_t rank;
    caffe2::TypeMeta dtype;
    bool complex;
  };
  /// Whether the parameter has states. New ones are of steps since the last call of `takeFresh`.
  enum class StateOrigin : uint8_t { None, New, Known };

  size_t rankOf(size_t param) const {
    return static_cast<size_t>(entries[param].rank - entries[param].complex);
  }
  void prefetchParams(size_t begin, size_t end) const;
  Found lookAtBlock(size_t begin, size_t end, const at::Tensor *given);
  bool isUsual(const at::TensorImpl &grad, const Entry &entry) const;
  static bool hasLayout(const at::TensorImpl &tensor, const Entry &entry);

  /// Stand for addresses of gradients that have none.
  static constexpr char unusual = 0, noElements = 0;

  std::vector<WatchedTensor> watched;
  std::vector<Entry> entries;
  std::vector<int64_t> dimensions;
  std::vector<c10::Storage> memory;    ///< of the parameters
  std::vector<const void *> addresses; ///< of the gradients; null: absent
  std::vector<c10::Storage> gradMemory;
  std::vector<StateOrigin> origins;
  std::atomic<bool> anyFresh = false;
  upd_dtype type = UPD_F32; ///< of the elements of all
  StepDevice on;
  c10::DispatchKeySet usualKeys; ///< of a dense tensor there
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_PARAMETERTABLE_H
