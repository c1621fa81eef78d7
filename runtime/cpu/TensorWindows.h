//===- TensorWindows.h - Tensors that go through all sweeps together ----------------*- C++ -*-===//
// A window's elements are still in the cache when another sweep reads them.

#ifndef UPDRAFT_RUNTIME_CPU_TENSORWINDOWS_H
#define UPDRAFT_RUNTIME_CPU_TENSORWINDOWS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace updraft::runtime {

/// Cuts a list of tensors into windows of consecutive tensors. A thread runs over its own windows
/// without waiting for others. All threads share windows of tensors that are too large for one
/// thread's cache, and all windows if the threads' own would be unequal. Depends only on the
/// arguments, so a thread gets the same tensors in every step.
class TensorWindows {
public:
  /// The largest tensor that one thread runs over, in bytes: a core's share of the L3 cache.
  static constexpr int64_t ownBytes = 4 << 20;
  /// The largest window of a thread with several tensors, in bytes: a part of the L2 cache, and
  /// enough to make the cost of a window negligible.
  static constexpr int64_t severalBytes = 256 << 10;

  struct Window {
    size_t begin, end;
    bool operator==(const Window &) const = default;
  };
  struct Tensor {
    int64_t bytes; // in all streams over elements
    int64_t cost;  // more than 0
  };

  /// `eachAlone`: a window has one tensor.
  explicit TensorWindows(bool eachAlone = false) : eachAlone(eachAlone) {}

  void clear();
  /// Appends a tensor to the list.
  void add(const Tensor &tensor);
  int64_t cost() const { return costOfAll; }
  /// Creates the windows for this number of threads, unless they exist already.
  void assign(size_t threads);

  size_t threads() const { return firstOwn.empty() ? 0 : firstOwn.size() - 1; }
  /// The windows of all threads together, in the order of the list.
  const std::vector<Window> &shared() const { return sharedWindows; }
  /// The windows of one thread, in the order of the list.
  std::span<const Window> own(size_t thread) const {
    return std::span(ownWindows).subspan(firstOwn[thread], firstOwn[thread + 1] - firstOwn[thread]);
  }
  bool hasOwn() const { return !ownWindows.empty(); }

private:
  void assignShared(int64_t largestOwn, size_t threads);
  bool assignOwn(size_t threads);

  bool eachAlone;
  std::vector<Tensor> tensors;
  int64_t costOfAll = 0;
  std::vector<Window> sharedWindows;
  std::vector<Window> ownWindows;
  std::vector<size_t> firstOwn; // for each thread, and the end
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_TENSORWINDOWS_H
