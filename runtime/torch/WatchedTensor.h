//===- WatchedTensor.h - A tensor that someone else owns ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_WATCHEDTENSOR_H
#define UPDRAFT_RUNTIME_TORCH_WATCHEDTENSOR_H

#include <ATen/core/Tensor.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace updraft::torch_adapter {

/// A weak reference to a tensor. It doesn't take the GIL. A strong reference would keep the
/// tensor's Python object alive, invisibly to Python's garbage collector. A parameter with an
/// attribute that leads back to its optimizer would then never be freed.
class WatchedTensor {
public:
  /// Refers to no tensor.
  WatchedTensor() : WatchedTensor(at::Tensor()) {}
  explicit WatchedTensor(const at::Tensor &tensor) : pointer(tensor.getIntrusivePtr()) {}

  /// Whether the tensor still has an owner. It can be freed at any time, unless its owner is known
  /// to keep it or, for a Python tensor, the caller holds the GIL.
  bool isAlive() const { return !pointer.expired(); }
  /// Returns a strong reference. Undefined if the tensor was freed.
  at::Tensor lock() const { return at::Tensor(pointer.lock()); }
  /// Returns the object, whose memory stays valid as long as this reference. A freed tensor has a
  /// version, but neither a storage nor a gradient. Without a tensor, it is the object of an
  /// undefined tensor.
  at::TensorImpl *object() const { return pointer._unsafe_get_target(); }

private:
  c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> pointer;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_WATCHEDTENSOR_H
