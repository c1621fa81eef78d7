//===- WatchedTensor.h - A tensor that someone else owns ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_WATCHEDTENSOR_H
#define UPDRAFT_RUNTIME_TORCH_WATCHEDTENSOR_H

#include <ATen/core/Tensor.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace updraft::torch_adapter {

/// A weak reference to a tensor, which takes no lock. A strong one keeps the tensor's Python object
/// alive where Python's garbage collector cannot see it, so that a parameter with an attribute that
/// leads back to its optimizer would never be freed.
class WatchedTensor {
public:
  /// Watches nothing.
  WatchedTensor() : WatchedTensor(at::Tensor()) {}
  explicit WatchedTensor(const at::Tensor &tensor) : pointer(tensor.getIntrusivePtr()) {}

  /// Whether the tensor still has an owner. It can die at any time, unless its owner is known to
  /// stay or, for a tensor of Python, the caller holds the interpreter's lock.
  bool isAlive() const { return !pointer.expired(); }
  /// The tensor, which this owns in part. Undefined if it has died.
  at::Tensor lock() const { return at::Tensor(pointer.lock()); }
  /// The object, whose memory lasts as long as this. Of a tensor that has died it has a version,
  /// and neither a storage nor a gradient; of nothing it is the object of an undefined tensor.
  at::TensorImpl *object() const { return pointer._unsafe_get_target(); }

private:
  c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> pointer;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_WATCHEDTENSOR_H
