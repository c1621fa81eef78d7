//===- StepCountTensors.cpp - Step counts as torch has them -----------------------------------===//

#include "runtime/torch/StepCountTensors.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/DynamicCast.h>

#include <algorithm>
#include <cstddef>
#include <limits>

using namespace updraft::torch_adapter;

bool StepCountTensors::canHave(at::ScalarType type) {
  switch (type) {
  case at::kFloat:
  case at::kDouble:
  case at::kHalf:
  case at::kBFloat16:
  case at::kLong:
  case at::kInt:
  case at::kShort:
    return true;
  default:
    return false;
  }
}

/// Returns the largest count that fits the type, or infinity for a type whose range includes all
/// counts.
static double largestOf(at::ScalarType type) {
  switch (type) {
  case at::kHalf:
    return std::numeric_limits<at::Half>::max();
  case at::kInt:
    return std::numeric_limits<int32_t>::max();
  case at::kShort:
    return std::numeric_limits<int16_t>::max();
  default:
    return std::numeric_limits<double>::infinity();
  }
}

/// Writes the nearest count that the type can represent. Converting an out-of-range value to an
/// integer type would be undefined.
static void store(at::ScalarType type, void *data, int64_t count) {
  if (type == at::kFloat) // most common
    *static_cast<float *>(data) = static_cast<float>(count);
  else
    c10::cast_and_store(type, data, std::min(static_cast<double>(count), largestOf(type)));
}

static double load(at::ScalarType type, const void *data) {
  return type == at::kFloat ? *static_cast<const float *>(data)
                            : c10::fetch_and_cast<double>(type, data);
}

void StepCountTensors::set(size_t param, const at::Tensor &count) {
  tensors[param] = WatchedTensor(count);
  places[param] = {count.mutable_data_ptr(), count.scalar_type(),
                   std::make_shared<c10::Storage>(count.storage())};
  any = true;
}

void StepCountTensors::set(size_t param, void *count, std::shared_ptr<void> memory) {
  tensors[param] = WatchedTensor();
  places[param] = {count, typeOfMade, std::move(memory)};
  any = true;
}

std::vector<at::Tensor> StepCountTensors::make(const std::vector<int64_t> &params,
                                               const std::vector<int64_t> &counts) {
  // Allocates all new step counts at once.
  std::vector<int64_t> missing;
  std::copy_if(params.begin(), params.end(), std::back_inserter(missing),
               [&](int64_t param) { return !places[param].data; });
  const size_t bytes = c10::elementSize(typeOfMade);
  const std::shared_ptr<std::byte[]> fresh(new std::byte[missing.size() * bytes]);
  for (size_t i = 0; i < missing.size(); ++i) {
    store(typeOfMade, fresh.get() + i * bytes, counts[missing[i]]);
    set(missing[i], fresh.get() + i * bytes, fresh);
  }
  std::vector<at::Tensor> result;
  result.reserve(params.size());
  for (int64_t param : params) {
    at::Tensor count = tensors[param].lock();
    if (!count.defined()) {
      // Each tensor has its own storage, so that it can be saved alone.
      const Place &place = places[param];
      count = at::for_blob(place.data, {})
                  .deleter([memory = place.memory](void *) {})
                  .options(at::TensorOptions(place.type).device(on.device))
                  .target_device(on.device)
                  .make_tensor();
      tensors[param] = WatchedTensor(count);
    }
    result.push_back(std::move(count));
  }
  return result;
}

bool StepCountTensors::hasMoved(size_t param) const {
  if (!tensors[param].isAlive())
    return false;
  const at::TensorImpl &count = *tensors[param].object();
  const Place &place = places[param];
  return dataOf(count) != place.data || count.dtype() != c10::scalarTypeToTypeMeta(place.type) ||
         count.key_set().has(c10::DispatchKey::Negative);
}

double StepCountTensors::valueOf(size_t param) const {
  return load(places[param].type, places[param].data);
}

bool StepCountTensors::isChanged(size_t param, int64_t count) const {
  if (!places[param].data)
    return false;
  alignas(8) std::byte expected[8];
  store(places[param].type, expected, count);
  return valueOf(param) != load(places[param].type, expected);
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
  if (!any || !places[param].data)
    return;
  store(places[param].type, places[param].data, count);
  bumpVersion(tensors[param]);
}
