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

/// Keeps an array's memory alive and describes it. All functions and the destructor need the GIL.
class TensorView {
public:
  /// Views `object`. Raises TypeError if it isn't an array or has masked elements, and
  /// UnsupportedError for its dtype or device. `what` is its name in messages.
  TensorView(nanobind::handle object, const char *what);
  TensorView(TensorView &&) = default;
  TensorView &operator=(TensorView &&) = default;

  /// This view owns the shape and strides.
  const upd_tensor &tensor() const { return view; }

  /// Whether the array still has the viewed memory.
  bool hasMemory() const { return memory.isSame(); }

  /// A Python object that keeps the memory alive.
  nanobind::object owner() const;

  /// For the garbage collector: visits the owned Python objects.
  int traverse(visitproc visit, void *arg) const;

private:
  // A numpy array is stored directly. The garbage collector can't see the content of `exported`, so
  // an attribute of an array that refers to its optimizer would keep both alive forever.
  nanobind::object array;
  nanobind::ndarray<nanobind::ro> exported;
  ArrayMemory memory;
  std::vector<int64_t> sizes; ///< shape and strides, unless an export has them
  upd_tensor view{};
};

/// A Python array over `tensor`'s memory, which `owner` keeps alive. numpy doesn't have bf16: the
/// result then has ml_dtypes' type if that is installed, or is an object with `__dlpack__`.
nanobind::object toArray(const upd_tensor &tensor, nanobind::handle owner);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_TENSOR_H
