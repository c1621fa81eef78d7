//===- TensorMemory.h - Reading torch's tensors with few cache misses ---------------*- C++ -*-===//
// A step of thousands of small tensors is bound by cache misses, because each tensor is several
// objects in different places. These functions read as little as possible, and read several tensors
// at once so that the misses overlap. They don't throw. Threads may process parts of one vector.
// More of them are in updraft/torch/Tensors.h.

#ifndef UPDRAFT_RUNTIME_TORCH_TENSORMEMORY_H
#define UPDRAFT_RUNTIME_TORCH_TENSORMEMORY_H

#include "runtime/torch/WatchedTensor.h"
#include "updraft/torch/Tensors.h"

#include <span>
#include <vector>

namespace updraft::torch_adapter {

/// How many tensors are read at once.
constexpr size_t tensorsAtOnce = 16;

using torch::detail::dataOf;
using torch::detail::prefetchTensor;

/// Prefetches the objects of tensors [begin, end) and of their storages.
inline void prefetchWithStorages(const std::vector<WatchedTensor> &tensors, size_t begin,
                                 size_t end) {
  for (size_t i = begin; i < end; ++i)
    prefetchTensor(tensors[i].object());
  for (size_t i = begin; i < end; ++i)
    __builtin_prefetch(tensors[i].object()->unsafe_storage().unsafeGetStorageImpl());
}

/// Reads the versions of some of the tensors before they are bumped, so that the cache misses
/// overlap. An atomic increment waits for its own miss only.
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

/// Tells autograd that the tensor was written. Does nothing if it was freed.
inline void bumpVersion(const WatchedTensor &tensor) {
  // Tensors from inference mode have no version.
  if (at::TensorImpl *object = tensor.object();
      tensor.isAlive() && object->version_counter().enabled())
    object->bump_version();
}

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_TENSORMEMORY_H
