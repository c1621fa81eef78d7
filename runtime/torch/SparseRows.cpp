//===- SparseRows.cpp - Sparse gradients as gradients of rows ---------------------------------===//

#include "runtime/torch/SparseRows.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <vector>

using namespace updraft::torch_adapter;

upd_row_grad SparseRows::of(size_t param, const StepDevice &on) const {
  return {param, static_cast<const int64_t *>(indices.const_data_ptr()),
          static_cast<size_t>(indices.numel()), viewOf(values, "a gradient", on), indexDims};
}

/// Returns the values with each row's dimensions in the parameter's memory order.
static at::Tensor withStrides(const at::Tensor &values, int64_t rowElements,
                              at::IntArrayRef within) {
  std::vector<int64_t> strides{rowElements};
  strides.insert(strides.end(), within.begin(), within.end());
  if (values.strides() == at::IntArrayRef(strides))
    return values;
  at::Tensor same = at::empty_strided(values.sizes(), strides, values.options());
  return same.copy_(values);
}

/// Whether the elements of each index of the first `dims` dimensions are contiguous in memory.
static bool hasRowsApart(at::IntArrayRef sizes, at::IntArrayRef strides, int64_t dims) {
  const int64_t rowElements = c10::multiply_integers(sizes.slice(dims));
  for (int64_t i = 0; i < dims; ++i)
    if (sizes[i] > 1 && strides[i] < rowElements)
      return false;
  return true;
}

SparseRows updraft::torch_adapter::sparseRowsOf(const at::Tensor &grad, at::IntArrayRef sizes,
                                                at::IntArrayRef strides) {
  const at::Tensor coalesced = grad.coalesce();
  at::Tensor places = coalesced._indices();
  at::Tensor values = realOf(coalesced._values().detach().resolve_conj().resolve_neg());
  int64_t dims = coalesced.sparse_dim();
  if (dims == 0 && !sizes.empty()) {
    // Without sparse dimensions, the gradient has all rows of the parameter, or none.
    const bool all = values.size(0) != 0;
    places = at::arange(all ? sizes[0] : 0, places.options()).unsqueeze(0);
    values = all ? values.squeeze(0) : values.flatten(0, 1);
    dims = 1;
  }
  if (c10::multiply_integers(sizes) == 0)
    places = places.slice(1, 0, 0), values = values.slice(0, 0, 0);

  if (dims == 1 && strides[0] == c10::multiply_integers(sizes.slice(1))) {
    // Copies indices that are shared with the gradient: another thread may write to them after they
    // have been checked.
    const bool isShared = grad.is_coalesced() && places.is_cpu();
    return {isShared ? places[0].clone() : places[0].contiguous(),
            withStrides(values, strides[0], strides.slice(1)), 1};
  }

  // The offset of each row, in elements.
  at::Tensor begins = at::zeros({values.size(0)}, places.options());
  for (int64_t i = 0; i < dims; ++i)
    begins.add_(places[i], strides[i]);
  if (!hasRowsApart(sizes, strides, dims)) {
    // Each element is a row. A complex element is a row of two.
    for (; dims < grad.dim(); ++dims) {
      const at::Tensor offsets = at::arange(sizes[dims], places.options()).mul(strides[dims]);
      begins = begins.unsqueeze(1).add(offsets).flatten();
      values = values.flatten(0, 1);
    }
  }
  const int64_t rowElements = c10::multiply_integers(sizes.slice(dims));
  if (!std::is_sorted(strides.begin(), strides.begin() + dims, std::greater<>())) {
    auto [sorted, order] = begins.sort();
    begins = sorted;
    values = values.index_select(0, order);
  }
  return {rowElements > 1 ? begins.floor_divide(rowElements) : begins,
          withStrides(values, rowElements, strides.slice(dims)), static_cast<int32_t>(dims)};
}
