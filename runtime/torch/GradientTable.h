//===- GradientTable.h - Parameters and gradients as a step looks at them -----------*- C++ -*-===//
// A step compares every parameter and gradient of torch with what it was made for. What it compares
// with lies side by side here, since thousands of small parameters are bound by cache misses.

#ifndef UPDRAFT_RUNTIME_TORCH_GRADIENTTABLE_H
#define UPDRAFT_RUNTIME_TORCH_GRADIENTTABLE_H

#include "runtime/torch/TensorMemory.h"
#include "runtime/torch/TensorView.h"
#include "updraft-c/types.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace updraft::torch_adapter {

class GradientTable {
public:
  /// The table keeps the parameters' memory, but not the parameters: their owner does. Throws if
  /// one is not a tensor on `on` that a step can write.
  GradientTable(const std::vector<at::Tensor> &params, const StepDevice &on);

  size_t size() const { return entries.size(); }
  const std::vector<WatchedTensor> &tensors() const { return watched; }
  bool isComplex(size_t param) const { return entries[param].complex; }
  at::ScalarType scalarType(size_t param) const { return entries[param].dtype.toScalarType(); }
  /// As the parameter has it, complex or not.
  at::IntArrayRef shape(size_t param) const {
    return {entries[param].sizes, static_cast<size_t>(entries[param].rank)};
  }
  /// The parameters, complex ones as pairs: valid as long as the table.
  const upd_tensor *params() const { return paramViews.data(); }
  at::IntArrayRef sizes(size_t param) const {
    return {paramViews[param].shape, static_cast<size_t>(paramViews[param].rank)};
  }
  at::IntArrayRef strides(size_t param) const {
    return {paramViews[param].strides, static_cast<size_t>(paramViews[param].rank)};
  }

  struct Found {
    bool moved = false;   ///< a parameter has other memory, layout or type than before, or has died
    bool unusual = false; ///< a gradient is not taken yet, since it needs a closer look
  };
  /// Takes the gradients of parameters in [begin, end) that are as usual: dense, of the parameter's
  /// type and layout, not lazily negated. They are kept by their memory: a tensor that Python knows
  /// takes the interpreter's lock for its second reference. Threads may do parts; nothing throws.
  /// `given` has a gradient for each parameter, or nothing; null: `.grad`, while Python does not
  /// run.
  Found take(size_t begin, size_t end, const at::Tensor *given);

  bool isUnusual(size_t param) const { return gradViews[param].rank == unusual; }
  bool isTaken(size_t param) const { return gradViews[param].rank >= 0; }
  void setAbsent(size_t param);
  /// Takes a gradient that was unusual. `view` is valid until the gradients are dropped.
  void set(size_t param, const upd_tensor &view, c10::Storage memory);

  /// As upd_optimizer_step takes them.
  const upd_tensor *grads() const { return gradViews.data(); }
  /// Drops the memory of those in [begin, end). Threads may do parts.
  void drop(size_t begin, size_t end);
  /// To be called after all are dropped.
  void forgetUnusual();

private:
  struct Entry {
    const void *data;
    const int64_t *sizes; ///< followed by strides; of a complex tensor as it is
    int32_t rank;
    caffe2::TypeMeta dtype;
    bool complex;
  };

  static constexpr int32_t absent = -1, unusual = -2;

  void prefetchParams(size_t begin, size_t end) const;
  void takeBlock(size_t begin, size_t end, const at::Tensor *given, Found &found);
  static bool hasLayout(const at::TensorImpl &tensor, const Entry &entry);

  std::vector<WatchedTensor> watched;
  std::vector<Entry> entries;
  std::vector<int64_t> dimensions;
  std::vector<upd_tensor> paramViews;
  std::vector<upd_tensor> gradViews;
  std::vector<c10::Storage> paramMemory;
  std::vector<c10::Storage> gradMemory;
  std::vector<size_t> setByHand; ///< their views have to be as usual again
  c10::DispatchKeySet usualKeys; ///< of a dense tensor at the place
  at::Device device;
  bool isOnGpu;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_GRADIENTTABLE_H
