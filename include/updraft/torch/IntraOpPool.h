//===- updraft/torch/IntraOpPool.h - torch's own threads for a step -----------------*- C++ -*-===//

#ifndef UPDRAFT_TORCH_INTRAOPPOOL_H
#define UPDRAFT_TORCH_INTRAOPPOOL_H

#include "updraft-c/optimizer.h"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/from_blob.h>

#include <exception>
#include <numeric>
#include <optional>
#include <vector>

namespace updraft {
inline namespace v1 {
namespace torch {
namespace detail {

// at::parallel_for is a template that its caller compiles. Without OpenMP it would run on the
// calling thread. TensorIterator::for_each is compiled into torch, and uses torch's threads.
inline void runOnIntraOpThreads(void *, int32_t count, void (*task)(void *context, int32_t index),
                                void *context) {
  if (count == 1)
    return task(context, 0);
  std::vector<int32_t> numbers;
  at::Tensor elements;
  std::optional<at::TensorIterator> iterator;
  try {
    numbers.resize(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    elements = at::from_blob(numbers.data(), {count}, at::kInt);
    iterator.emplace(at::TensorIterator::borrowing_nullary_op(elements));
  } catch (const std::exception &) {
    // Runs the tasks on this thread: a step that has begun must not fail if memory runs out.
    for (int32_t i = 0; i < count; ++i)
      task(context, i);
    return;
  }
  iterator->for_each(
      [&](char **data, const int64_t *strides, int64_t size) {
        for (int64_t i = 0; i < size; ++i)
          task(context, *reinterpret_cast<int32_t *>(data[0] + i * strides[0]));
      },
      /*grain_size=*/1);
}

} // namespace detail

/// Returns the pool that torch's operators run on. A step uses the value of at::set_num_threads
/// from when it begins. Never destroyed. Thread-safe.
inline const upd_pool *intraOpPool() {
  static constexpr upd_pool pool = {detail::runOnIntraOpThreads,
                                    [](void *) -> int32_t { return at::get_num_threads(); },
                                    nullptr};
  return &pool;
}

} // namespace torch
} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TORCH_INTRAOPPOOL_H
