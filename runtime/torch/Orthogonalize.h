//===- Orthogonalize.h - The products of torch.optim.Muon ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_ORTHOGONALIZE_H
#define UPDRAFT_RUNTIME_TORCH_ORTHOGONALIZE_H

#include <ATen/core/Tensor.h>

namespace updraft::torch_adapter {

/// Returns, in bf16, a matrix with the singular vectors of `direction` and singular values near 1,
/// by Newton and Schulz's iteration with the coefficients a, b and c. Has the bits of
/// torch.optim.Muon, because it calls the same operators of ATen. `direction` is a matrix, and no
/// norm counts as less than `eps`. Thread-safe.
at::Tensor orthogonalized(const at::Tensor &direction, double a, double b, double c, int64_t steps,
                          double eps);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_ORTHOGONALIZE_H
