//===- updraft/torch/Parameters.h - The parameters and gradients of a step ----------*- C++ -*-===//
// Keeps torch's data about the parameters in arrays, because cache misses bound the step of
// thousands of small parameters.

#ifndef UPDRAFT_TORCH_PARAMETERS_H
#define UPDRAFT_TORCH_PARAMETERS_H

#include "updraft/torch/IntraOpPool.h"
#include "updraft/torch/Tensors.h"

#include <ATen/ops/empty.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace updraft {
inline namespace v1 {
namespace torch {
namespace detail {

using ParamGroups = std::vector<::torch::optim::OptimizerParamGroup>;

class Parameters {
public:
  Parameters() = default;
  Parameters(Parameters &&) noexcept = default;
  Parameters &operator=(Parameters &&) noexcept = default;
  Parameters(const ParamGroups &groups, upd_dtype ofGradients)
      : gradType(caffe2::TypeMeta::fromScalarType(scalarTypeOf(ofGradients))) {
    for (const auto &group : groups) {
      for (const at::Tensor &param : group.params()) {
        const upd_tensor view = viewOf(param, "parameter " + std::to_string(params.size()));
        entries.push_back({param.unsafeGetTensorImpl(), view.data, nullptr, view.rank,
                           param.dtype(), view.dtype, view.device, view.device_index});
        dimensions.insert(dimensions.end(), view.shape, view.shape + view.rank);
        dimensions.insert(dimensions.end(), view.strides, view.strides + view.rank);
        params.push_back(param);
      }
      groupEnds.push_back(params.size());
    }
    const int64_t *sizes = dimensions.data();
    for (Entry &entry : entries) {
      entry.sizes = sizes;
      sizes += 2 * entry.rank;
    }
    addresses.resize(entries.size());
    // The keys of plain tensors.
    usualKeys = at::empty({0}, at::TensorOptions(at::kFloat).device(device())).key_set();
  }

  size_t size() const { return entries.size(); }
  const at::Tensor &operator[](size_t param) const { return params[param]; }
  at::Device device() const { return params.empty() ? at::Device(at::kCPU) : params[0].device(); }

  /// The index of a parameter's group.
  size_t groupOf(size_t param) const {
    const auto end = std::upper_bound(groupEnds.begin(), groupEnds.end(), param);
    return static_cast<size_t>(end - groupEnds.begin());
  }

  /// For each of other groups, the group here whose states of the group it continues: the one at
  /// its index if a parameter stayed there. Otherwise, as after an earlier group was erased, the
  /// one of its first known parameter. No group here is continued twice.
  /// `known` is the result of `indices`.
  std::vector<std::optional<size_t>>
  sourcesOf(const ParamGroups &groups,
            const std::unordered_map<const at::TensorImpl *, size_t> &known) const {
    std::vector<std::optional<size_t>> sources(groups.size()), firsts(groups.size());
    std::vector<bool> isTaken(groupEnds.size());
    for (size_t i = 0; i < groups.size(); ++i)
      for (const at::Tensor &param : groups[i].params()) {
        const auto found = known.find(param.unsafeGetTensorImpl());
        if (found == known.end())
          continue;
        const size_t group = groupOf(found->second);
        if (!firsts[i])
          firsts[i] = group;
        if (group == i) {
          sources[i] = i;
          isTaken[i] = true;
        }
      }
    for (size_t i = 0; i < groups.size(); ++i)
      if (!sources[i] && firsts[i] && !isTaken[*firsts[i]]) {
        sources[i] = firsts[i];
        isTaken[*firsts[i]] = true;
      }
    return sources;
  }

  at::IntArrayRef sizes(size_t param) const {
    return {entries[param].sizes, static_cast<size_t>(entries[param].rank)};
  }
  at::IntArrayRef strides(size_t param) const {
    return {entries[param].sizes + entries[param].rank, static_cast<size_t>(entries[param].rank)};
  }

  /// Valid as long as this object.
  std::vector<upd_tensor> views() const {
    std::vector<upd_tensor> result;
    result.reserve(entries.size());
    for (const Entry &entry : entries)
      result.push_back({const_cast<void *>(entry.data), entry.sizes, entry.sizes + entry.rank,
                        entry.rank, entry.type, entry.device, entry.deviceIndex,
                        /*read_only=*/0});
    return result;
  }

  /// The parameters' indices.
  std::unordered_map<const at::TensorImpl *, size_t> indices() const {
    std::unordered_map<const at::TensorImpl *, size_t> result;
    for (size_t i = 0; i < entries.size(); ++i)
      result.emplace(entries[i].object, i);
    return result;
  }

  /// Whether the groups have these parameters, each in the same group, with the same memory, types
  /// and layouts.
  bool areThoseOf(const ParamGroups &groups) const {
    return haveObjectsOf(groups) && std::none_of(entries.begin(), entries.end(), hasMoved);
  }

  /// Takes the gradients, on the intra-op threads. Returns false if `areThoseOf` would. Throws if a
  /// gradient is refused.
  bool look(const ParamGroups &groups) {
    dropGradients();
    if (!haveObjectsOf(groups))
      return false;
    std::atomic<bool> moved = false, unusual = false;
    const auto lookAtPart = [&](size_t begin, size_t end) {
      const Found found = look(begin, end);
      if (found.moved)
        moved = true;
      if (found.unusual)
        unusual = true;
    };
    forParts(entries.size(), lookAtPart);
    if (moved)
      return false;
    for (size_t i = 0; i < entries.size() && unusual; ++i)
      if (addresses[i] == &isUnusual)
        addresses[i] = addressOfUnusual(entries[i].object->grad(), i);
    return true;
  }

  /// The argument of upd_optimizer_prepare_addresses. Valid until the gradients are dropped.
  const void *const *gradients() const { return addresses.data(); }

  /// Tells autograd that parameters were written. Threads may process different parameters.
  void bumpVersions(const uint32_t *some, size_t count) const {
    // An increment waits for its own cache miss only, so the versions are read first.
    for (size_t i = 0; i < count; ++i)
      prefetchTensor(entries[some[i]].object);
    // Tensors from inference mode have no version.
    for (size_t i = 0; i < count; ++i)
      if (const auto &version = entries[some[i]].object->version_counter(); version.enabled())
        version.current_version();
    for (size_t i = 0; i < count; ++i)
      if (at::TensorImpl *object = entries[some[i]].object; object->version_counter().enabled())
        object->bump_version();
  }

  /// The same for all parameters with gradients.
  void bumpVersions() const {
    for (uint32_t i = 0; i < entries.size(); ++i)
      if (addresses[i])
        bumpVersions(&i, 1);
  }

  void dropGradients() { copies.clear(); }

private:
  struct Entry {
    at::TensorImpl *object;
    const void *data;
    const int64_t *sizes; ///< followed by strides
    int32_t rank;
    caffe2::TypeMeta dtype;
    upd_dtype type;
    upd_device device;
    int32_t deviceIndex;
  };

  /// How many tensors are read at once, so that cache misses overlap.
  static constexpr size_t atOnce = 16;
  /// The least number of parameters that are worth a thread.
  static constexpr size_t leastPerPart = 256;
  /// The address of a gradient that has no elements, and of one that has yet to be looked at.
  static constexpr char noElements = 0, isUnusual = 0;

  static bool hasLayout(const at::TensorImpl &tensor, const Entry &entry) {
    const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
    const auto rank = static_cast<size_t>(entry.rank);
    if (sizes.size() != rank)
      return false;
    for (size_t i = 0; i < rank; ++i)
      if (sizes[i] != entry.sizes[i] || (strides[i] != entry.sizes[rank + i] && sizes[i] != 1))
        return false;
    return true;
  }

  static bool hasMoved(const Entry &entry) {
    return dataOf(*entry.object) != entry.data || entry.object->dtype() != entry.dtype ||
           !hasLayout(*entry.object, entry);
  }

  bool haveObjectsOf(const ParamGroups &groups) const {
    if (groups.size() != groupEnds.size())
      return false;
    size_t i = 0;
    for (size_t group = 0; group < groups.size(); ++group) {
      const std::vector<at::Tensor> &listed = groups[group].params();
      if (i + listed.size() != groupEnds[group])
        return false;
      for (const at::Tensor &param : listed)
        if (entries[i++].object != param.unsafeGetTensorImpl())
          return false;
    }
    return true;
  }

  void prefetch(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i)
      prefetchTensor(entries[i].object);
  }

  struct Found {
    bool moved = false;   ///< a parameter has other memory, type or layout
    bool unusual = false; ///< a gradient's address is `isUnusual`
  };

  /// Calls `part(begin, end)` on the intra-op threads.
  template <typename Part> static void forParts(size_t count, const Part &part) {
    const auto parts = static_cast<int32_t>(std::min<size_t>(
        std::max<size_t>(count / leastPerPart, 1), static_cast<size_t>(at::get_num_threads())));
    struct Context {
      const Part &part;
      size_t count, parts;
    } context{part, count, static_cast<size_t>(parts)};
    const auto run = [](void *given, int32_t index) {
      const auto &[part, count, parts] = *static_cast<Context *>(given);
      const auto i = static_cast<size_t>(index);
      part(count * i / parts, count * (i + 1) / parts);
    };
    intraOpPool()->run(nullptr, parts, run, &context);
  }

  Found look(size_t begin, size_t end) {
    Found found;
    prefetch(begin, std::min(begin + atOnce, end));
    for (size_t i = begin; i < end; i += atOnce) {
      const Found block = lookAtBlock(i, std::min(i + atOnce, end), end);
      found.moved |= block.moved;
      found.unusual |= block.unusual;
    }
    return found;
  }

  /// Each tensor is several objects in different places. `last` is the end of the part.
  Found lookAtBlock(size_t begin, size_t end, size_t last) {
    Found found;
    const at::Tensor *grads[atOnce];
    prefetch(end, std::min(end + atOnce, last));
    for (size_t i = begin; i < end; ++i) {
      __builtin_prefetch(entries[i].object->unsafe_storage().unsafeGetStorageImpl());
      if (const c10::AutogradMetaInterface *meta = entries[i].object->autograd_meta()) {
        __builtin_prefetch(meta);
        __builtin_prefetch(reinterpret_cast<const char *>(meta) + 48); // the gradient
      }
    }
    for (size_t i = begin; i < end; ++i) {
      grads[i - begin] = &entries[i].object->grad();
      if (grads[i - begin]->defined())
        prefetchTensor(grads[i - begin]->unsafeGetTensorImpl());
    }
    for (size_t i = begin; i < end; ++i)
      if (const at::Tensor &grad = *grads[i - begin]; grad.defined())
        __builtin_prefetch(grad.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
    for (size_t i = begin; i < end; ++i) {
      found.moved |= hasMoved(entries[i]);
      const at::Tensor &grad = *grads[i - begin];
      addresses[i] = grad.defined() ? addressOf(*grad.unsafeGetTensorImpl(), i) : nullptr;
      found.unusual |= addresses[i] == &isUnusual;
    }
    return found;
  }

  const void *addressOf(const at::TensorImpl &grad, size_t param) const {
    const Entry &entry = entries[param];
    // All GPUs have the same keys, so the devices are compared too.
    const bool isUsual = grad.key_set() == usualKeys && grad.dtype() == gradType &&
                         hasLayout(grad, entry) &&
                         (entry.device == UPD_CPU || grad.device() == params[param].device());
    const void *data = isUsual ? dataOf(grad) : nullptr;
    return data ? data : &isUnusual;
  }

  /// The address of a gradient with another layout, or without elements. Throws if it is refused.
  C10_NOINLINE const void *addressOfUnusual(const at::Tensor &grad, size_t param) {
    TORCH_CHECK_NOT_IMPLEMENTED(grad.layout() == at::kStrided, "the gradient of parameter ", param,
                                " is sparse; the step takes dense gradients: use `to_dense()`, or "
                                "an embedding without `sparse`");
    const at::IntArrayRef sizes = this->sizes(param), strides = this->strides(param);
    TORCH_CHECK_VALUE(grad.sizes() == sizes, "the gradient of parameter ", param, " has the shape ",
                      grad.sizes(), "; the parameter has ", sizes);
    TORCH_CHECK_VALUE(grad.dtype() == gradType, "the gradient of parameter ", param,
                      " has the dtype ", grad.scalar_type(), "; the rule is compiled for ",
                      gradType.toScalarType());
    TORCH_CHECK_VALUE(grad.device() == params[param].device(), "the gradient of parameter ", param,
                      " is on ", grad.device(), "; the parameter is on ", params[param].device());
    if (grad.numel() == 0)
      return &noElements;
    at::Tensor same = grad.detach().resolve_neg();
    if (same._is_zerotensor())
      same = same.clone(); // has no memory
    same = placed(same, strides, grad.device());
    const void *data = dataOf(*same.unsafeGetTensorImpl());
    TORCH_CHECK_VALUE(data, "the gradient of parameter ", param, " has no memory");
    copies.push_back(std::move(same));
    return data;
  }

  std::vector<at::Tensor> params; ///< keep the objects of `entries` alive
  std::vector<Entry> entries;
  std::vector<size_t> groupEnds; ///< the index behind the last parameter, by group
  std::vector<int64_t> dimensions;
  std::vector<const void *> addresses; ///< of the gradients; null if absent
  std::vector<at::Tensor> copies;      ///< of gradients that have another layout
  caffe2::TypeMeta gradType;
  c10::DispatchKeySet usualKeys;
};

} // namespace detail
} // namespace torch
} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TORCH_PARAMETERS_H
