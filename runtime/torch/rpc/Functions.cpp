//===- Functions.cpp - Functions that every worker has ----------------------------------------===//
// They have the names, arguments and defaults of torch.nn.functional.

#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <torch/library.h>

static at::Tensor linear(const at::Tensor &input, const at::Tensor &weight,
                         const std::optional<at::Tensor> &bias) {
  return at::linear(input, weight, bias);
}

static at::Tensor embedding(const at::Tensor &input, const at::Tensor &weight, bool sparse) {
  return at::embedding(weight, input, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, sparse);
}

TORCH_LIBRARY_FRAGMENT(updraft_functions, library) {
  library.def("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear);
  library.def("embedding(Tensor input, Tensor weight, *, bool sparse=False) -> Tensor", embedding);
}
