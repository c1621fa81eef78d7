//===- Tensor.h - Python arrays as tensors of the C API -----------------------------*- C++ -*-===//
// Views of numpy arrays and of anything with `__dlpack__`, and numpy views of the library's memory.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_PYTHON_TENSOR_H
#define UPDRAFT_PYTHON_TENSOR_H

#include "updraft-c/types.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace updraft::python {

/// Keeps an array's memory alive and describes it. Shape and strides belong to the array.
class TensorView {
public:
  /// Views `object`; raises TypeError if it is no array, UnsupportedError for its dtype or device.
  /// `what` names it in messages. Needs the GIL, also to be destroyed.
  TensorView(nanobind::handle object, const char *what);

  const upd_tensor &tensor() const { return view; }

private:
  nanobind::ndarray<nanobind::ro> array;
  upd_tensor view{};
};

/// A Python array over `tensor`'s memory, which `owner` keeps alive. numpy has no bf16 of its own:
/// that is an object with `__dlpack__`, or of ml_dtypes' type where it is installed.
nanobind::object toArray(const upd_tensor &tensor, nanobind::handle owner);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_TENSOR_H
