//===- TensorMemory.h - What a step reads of torch's tensors ------------------------*- C++ -*-===//
// Thousands of small tensors are bound by cache misses, as each is several objects that lie
// anywhere: these read as little as they can, and of several tensors at once, so that the misses
// overlap. Nothing throws; threads may do parts of one vector.

#ifndef UPDRAFT_RUNTIME_TORCH_TENSORMEMORY_H
#define UPDRAFT_RUNTIME_TORCH_TENSORMEMORY_H

#include "runtime/torch/WatchedTensor.h"

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace updraft::torch_adapter {

/// How many tensors are looked at together.
constexpr size_t tensorsAtOnce = 16;

/// Fetches the object itself into the cache, not what it points to.
inline void prefetchTensor(const at::TensorImpl *tensor) {
  const char *bytes = reinterpret_cast<const char *>(tensor);
  for (size_t offset = 0; offset < sizeof(at::TensorImpl); offset += 64)
    __builtin_prefetch(bytes + offset);
  __builtin_prefetch(bytes + sizeof(at::TensorImpl) - 1);
}

/// Fetches the objects of tensors in [begin, end), and of their storages.
inline void prefetchWithStorages(const std::vector<WatchedTensor> &tensors, size_t begin,
                                 size_t end) {
  for (size_t i = begin; i < end; ++i)
    prefetchTensor(tensors[i].object());
  for (size_t i = begin; i < end; ++i)
    __builtin_prefetch(tensors[i].object()->unsafe_storage().unsafeGetStorageImpl());
}

/// Where the elements begin: as TensorImpl::data, which calls what it need not. Null where there is
/// no memory, as of a storage of no bytes.
inline const void *dataOf(const at::TensorImpl &tensor) {
  const void *start = tensor.unsafe_storage().data();
  if (tensor.numel() == 0 || !start)
    return nullptr;
  return static_cast<const char *>(start) +
         tensor.dtype().itemsize() * static_cast<size_t>(tensor.storage_offset());
}

/// Reads the versions of some of the tensors, which are about to be bumped: an atomic increment
/// waits for its own cache miss alone.
inline void readVersions(const std::vector<WatchedTensor> &tensors,
                         std::span<const uint32_t> some) {
  for (uint32_t i : some)
    prefetchTensor(tensors[i].object());
  for (uint32_t i : some)
    if (tensors[i].isAlive())
      if (const c10::VariableVersion &version = tensors[i].object()->version_counter();
          version.enabled())
        version.current_version();
}

/// Tells autograd that the tensor was written, unless it has died.
inline void bumpVersion(const WatchedTensor &tensor) {
  // Those from inference mode have none.
  if (at::TensorImpl *object = tensor.object();
      tensor.isAlive() && object->version_counter().enabled())
    object->bump_version();
}

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_TENSORMEMORY_H
