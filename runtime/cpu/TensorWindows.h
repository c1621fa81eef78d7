//===- TensorWindows.h - Tensors that go through all passes before the next ---------*- C++ -*-===//
// What a pass reads again of a window is still in the cache.

#ifndef UPDRAFT_RUNTIME_CPU_TENSORWINDOWS_H
#define UPDRAFT_RUNTIME_CPU_TENSORWINDOWS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace updraft::runtime {

/// Cuts a list of tensors into windows, each of tensors that follow each other. Most are of one
/// thread, which runs over them without waiting for the others; all threads share those of tensors
/// that are too large for the cache of one. Depends on nothing but the arguments, so that a thread
/// gets the same tensors in every step.
class TensorWindows {
public:
  /// The bytes of a tensor that one thread runs over: what a core has of the third-level cache.
  static constexpr int64_t ownBytes = 4 << 20;
  /// The bytes of several tensors in one window of a thread: a part of the second-level cache, and
  /// so many that what a window costs does not count.
  static constexpr int64_t severalBytes = 256 << 10;

  struct Window {
    size_t begin, end;
    bool operator==(const Window &) const = default;
  };
  struct Tensor {
    int64_t bytes; // that passes run over
    int64_t cost;  // more than 0
  };

  void clear();
  /// Appends a tensor to the list.
  void add(const Tensor &tensor);
  int64_t cost() const { return costOfAll; }
  /// Makes the windows for so many threads, unless they are that already.
  void assign(size_t threads);

  size_t threads() const { return firstOwn.empty() ? 0 : firstOwn.size() - 1; }
  /// Those of all threads, in the order of the list.
  const std::vector<Window> &shared() const { return sharedWindows; }
  /// Those of one, in the order of the list.
  std::span<const Window> own(size_t thread) const {
    return std::span(ownWindows).subspan(firstOwn[thread], firstOwn[thread + 1] - firstOwn[thread]);
  }
  bool hasOwn() const { return !ownWindows.empty(); }

private:
  void assignShared(int64_t largestOwn, size_t threads);
  bool assignOwn(size_t threads);

  std::vector<Tensor> tensors;
  int64_t costOfAll = 0;
  std::vector<Window> sharedWindows;
  std::vector<Window> ownWindows;
  std::vector<size_t> firstOwn; // of each thread, and the end
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_TENSORWINDOWS_H
