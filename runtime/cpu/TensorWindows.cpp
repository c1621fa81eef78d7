//===- TensorWindows.cpp - Tensors that go through all sweeps together ------------------------===//

#include "runtime/cpu/TensorWindows.h"

#include <algorithm>

using namespace updraft::runtime;

void TensorWindows::clear() {
  tensors.clear();
  costOfAll = 0;
  firstOwn.clear();
}

void TensorWindows::add(const Tensor &tensor) {
  tensors.push_back(tensor);
  costOfAll += tensor.cost;
  firstOwn.clear();
}

void TensorWindows::assign(size_t threads) {
  if (threads == this->threads())
    return;
  assignShared(ownBytes, threads);
  if (assignOwn(threads))
    return;
  assignShared(-1, threads);
  assignOwn(threads);
}

/// Creates the shared windows. A window begins at each tensor that is larger than `largestOwn`, and
/// has as many tensors as the threads' caches can hold. Consecutive tensors that are each larger
/// than these caches form one window: caching doesn't help them, and with more windows the threads
/// would wait for each other more often.
void TensorWindows::assignShared(int64_t largestOwn, size_t threads) {
  sharedWindows.clear();
  const int64_t most = ownBytes * static_cast<int64_t>(threads);
  for (size_t begin = 0; begin < tensors.size();) {
    int64_t bytes = tensors[begin].bytes;
    size_t end = begin + 1;
    if (bytes > largestOwn) {
      const bool isTooLarge = bytes > most;
      while (!eachAlone && end < tensors.size() &&
             (isTooLarge ? tensors[end].bytes > most : bytes + tensors[end].bytes <= most))
        bytes += tensors[end++].bytes;
      sharedWindows.push_back({begin, end});
    }
    begin = end;
  }
}

/// Distributes the other tensors over the threads at about equal cost. Returns false if a thread
/// would have over 9/8 of its share.
bool TensorWindows::assignOwn(size_t threads) {
  ownWindows.clear();
  firstOwn.assign(threads + 1, 0);
  int64_t total = 0;
  std::vector<char> isShared(tensors.size());
  for (const Window &window : sharedWindows)
    std::fill(isShared.begin() + static_cast<ptrdiff_t>(window.begin),
              isShared.begin() + static_cast<ptrdiff_t>(window.end), 1);
  for (size_t i = 0; i < tensors.size(); ++i)
    total += isShared[i] ? 0 : tensors[i].cost;

  const auto count = static_cast<int64_t>(threads);
  const int64_t share = (total + count - 1) / count;
  int64_t before = 0, largest = 0, ofThread = 0, bytes = 0;
  size_t thread = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (isShared[i])
      continue;
    const auto [tensorBytes, cost] = tensors[i];
    bool joins = !eachAlone && !ownWindows.empty() && ownWindows.back().end == i &&
                 bytes + tensorBytes <= severalBytes;
    for (const auto next = static_cast<size_t>((before + cost / 2) / share); thread < next;) {
      firstOwn[++thread] = ownWindows.size();
      ofThread = 0;
      joins = false;
    }
    if (joins)
      ownWindows.back().end = i + 1;
    else
      ownWindows.push_back({i, i + 1});
    bytes = joins ? bytes + tensorBytes : tensorBytes;
    before += cost;
    ofThread += cost;
    largest = std::max(largest, ofThread);
  }
  std::fill(firstOwn.begin() + static_cast<ptrdiff_t>(thread) + 1, firstOwn.end(),
            ownWindows.size());
  return largest <= share + share / 8;
}
