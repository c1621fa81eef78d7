//===- Orthogonalize.cpp - The products of torch.optim.Muon -----------------------------------===//

#include "runtime/torch/Orthogonalize.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mm.h>

at::Tensor updraft::torch_adapter::orthogonalized(const at::Tensor &direction, double a, double b,
                                                  double c, int64_t steps, double eps) {
  at::Tensor x = direction.to(at::kBFloat16, /*non_blocking=*/false, /*copy=*/true);
  // Products of the shorter side are smaller.
  const bool isTall = direction.size(0) > direction.size(1);
  if (isTall)
    x = x.t();
  x.div_(at::linalg_vector_norm(x, 2).clamp_min(eps));
  for (int64_t step = 0; step < steps; ++step) {
    const at::Tensor gram = at::mm(x, x.t());
    const at::Tensor factor = at::addmm(gram, gram, gram, /*beta=*/b, /*alpha=*/c);
    x = at::addmm(x, factor, x, /*beta=*/a);
  }
  return isTall ? x.t() : x;
}
