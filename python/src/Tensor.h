//===- Tensor.h - Python arrays as tensors of the C API -----------------------------*- C++ -*-===//
// Views of numpy arrays and of anything with `__dlpack__`, and numpy views of the library's memory.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_PYTHON_TENSOR_H
#define UPDRAFT_PYTHON_TENSOR_H

#include "ArrayMemory.h"
#include "updraft-c/types.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <vector>

namespace updraft::python {

/// Keeps an array's memory alive and describes it. Needs the GIL, also to be destroyed.
class TensorView {
public:
  /// Views `object`; raises TypeError if it is not an array or has masked elements,
  /// UnsupportedError for its dtype or device. `what` names it in messages.
  TensorView(nanobind::handle object, const char *what);
  TensorView(TensorView &&) = default;
  TensorView &operator=(TensorView &&) = default;

  /// Its shape and strides are this view's.
  const upd_tensor &tensor() const { return view; }

  /// Whether the array still has the memory that was viewed.
  bool hasMemory() const { return memory.isSame(); }

  /// A Python object that keeps the memory alive.
  nanobind::object owner() const;

  /// For the garbage collector: visits the Python objects that are held.
  int traverse(visitproc visit, void *arg) const;

private:
  // An array of numpy is held as such. What `exported` holds is hidden from the garbage collector,
  // so an attribute of an array that leads back to its optimizer would keep both forever.
  nanobind::object array;
  nanobind::ndarray<nanobind::ro> exported;
  ArrayMemory memory;
  std::vector<int64_t> sizes; ///< shape and strides of what is not exported
  upd_tensor view{};
};

/// A Python array over `tensor`'s memory, which `owner` keeps alive. numpy has no bf16 of its own:
/// that is an object with `__dlpack__`, or of ml_dtypes' type where it is installed.
nanobind::object toArray(const upd_tensor &tensor, nanobind::handle owner);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_TENSOR_H
