//===- StepCountTensors.cpp - Step counts as torch has them -----------------------------------===//

#include "runtime/torch/StepCountTensors.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <memory>

using namespace updraft::torch_adapter;

std::vector<at::Tensor> StepCountTensors::make(const std::vector<int64_t> &params,
                                               const std::vector<int64_t> &counts) {
  std::vector<at::Tensor> result;
  result.reserve(params.size());
  // One allocation for those that are new, and yet a storage for each, so that one can be saved.
  const auto missing = std::count_if(params.begin(), params.end(),
                                     [&](int64_t param) { return !tensors[param].defined(); });
  const std::shared_ptr<float[]> fresh(new float[missing]);
  size_t used = 0;
  for (int64_t param : params) {
    if (!tensors[param].defined()) {
      float *count = &fresh[used++];
      *count = static_cast<float>(counts[param]);
      set(param, at::from_blob(count, {}, [fresh](void *) {}, at::kFloat));
    }
    result.push_back(tensors[param]);
  }
  return result;
}

bool StepCountTensors::hasMoved(size_t param) const {
  const at::Tensor &count = tensors[param];
  return count.defined() &&
         ((count.scalar_type() != at::kFloat && count.scalar_type() != at::kDouble) ||
          count.is_neg() || !dataOf(*count.unsafeGetTensorImpl()));
}

double StepCountTensors::valueOf(size_t param) const {
  const at::Tensor &count = tensors[param];
  const void *data = dataOf(*count.unsafeGetTensorImpl());
  return count.scalar_type() == at::kDouble ? *static_cast<const double *>(data)
                                            : *static_cast<const float *>(data);
}

bool StepCountTensors::isChanged(size_t param, int64_t count) const {
  const at::Tensor &tensor = tensors[param];
  if (!tensor.defined())
    return false;
  const auto expected = static_cast<double>(count);
  return valueOf(param) !=
         (tensor.scalar_type() == at::kDouble ? expected : static_cast<float>(expected));
}

StepCountTensors::Found StepCountTensors::look(size_t begin, size_t end,
                                               const std::vector<int64_t> &counts) const {
  Found found;
  if (!any)
    return found;
  for (size_t i = begin; i < end; ++i) {
    if ((i - begin) % tensorsAtOnce == 0)
      prefetchWithStorages(tensors, i, std::min(i + tensorsAtOnce, end));
    if (hasMoved(i))
      found.moved = true;
    else
      found.changed |= isChanged(i, counts[i]);
  }
  return found;
}

void StepCountTensors::write(size_t param, int64_t count) const {
  if (!any || !tensors[param].defined())
    return;
  at::TensorImpl &tensor = *tensors[param].unsafeGetTensorImpl();
  if (tensor.dtype() == caffe2::TypeMeta::Make<double>())
    *static_cast<double *>(tensor.mutable_data()) = static_cast<double>(count);
  else
    *static_cast<float *>(tensor.mutable_data()) = static_cast<float>(count);
  bumpVersion(tensors[param]);
}
