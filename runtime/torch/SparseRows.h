//===- SparseRows.h - Sparse gradients as gradients of rows -------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_SPARSEROWS_H
#define UPDRAFT_RUNTIME_TORCH_SPARSEROWS_H

#include "runtime/torch/TensorView.h"
#include "updraft-c/optimizer.h"

#include <ATen/core/Tensor.h>

namespace updraft::torch_adapter {

/// The parts of a sparse gradient in the layout of upd_row_grad, which points into them.
struct SparseRows {
  at::Tensor indices; ///< ascending
  at::Tensor values;
  int32_t indexDims;

  upd_row_grad of(size_t param, const StepDevice &on) const;
};

/// Returns the rows of a sparse gradient. `sizes` and `strides` are those of the dense parameter,
/// or of its real pairs if it is complex. If the parameter's rows aren't contiguous in memory, each
/// element is a row.
SparseRows sparseRowsOf(const at::Tensor &grad, at::IntArrayRef sizes, at::IntArrayRef strides);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_SPARSEROWS_H
