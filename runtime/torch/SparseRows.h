//===- SparseRows.h - Sparse gradients as gradients of rows -------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_SPARSEROWS_H
#define UPDRAFT_RUNTIME_TORCH_SPARSEROWS_H

#include "runtime/torch/TensorView.h"
#include "updraft-c/optimizer.h"

#include <ATen/core/Tensor.h>

namespace updraft::torch_adapter {

/// The parts of a sparse gradient as upd_row_grad has them, which points into them.
struct SparseRows {
  at::Tensor indices; ///< ascending
  at::Tensor values;
  int32_t indexDims;

  upd_row_grad of(size_t param, const StepDevice &on) const;
};

/// The rows that a sparse gradient has of a dense parameter, which is `sizes` and `strides`,
/// complex ones as pairs. Where the parameter's rows do not lie apart in memory, these are its
/// elements.
SparseRows sparseRowsOf(const at::Tensor &grad, at::IntArrayRef sizes, at::IntArrayRef strides);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_SPARSEROWS_H
