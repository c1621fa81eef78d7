//===- StreamView.h - The memory of a stream, in any storage type -------------------*- C++ -*-===//
// Separate elements, or blocks of codes followed by their scales.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_STREAMVIEW_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_STREAMVIEW_H

#include "updraft/Reference/BlockedFormat.h"
#include "updraft/Reference/Interpreter.h"

#include <optional>
#include <random>
#include <string>

namespace updraft::differential {

class StreamView {
public:
  /// Stream `index` of `rule` in a tensor.
  StreamView(const reference::Interpreter &rule, size_t index, const reference::Shape &shape);

  reference::StorageFormat storage() const { return format; }
  int64_t count() const { return values; }
  size_t bytes() const;
  /// The alignment of its start, in bytes.
  size_t alignment() const;

  /// Like fillElements.
  void fillRandom(void *data, std::mt19937_64 &random, bool specials) const;
  void fill(void *data, double value) const;
  /// The first element that is stored differently; all NaNs are equal.
  std::optional<int64_t> firstDifference(const void *compiled, const void *interpreted) const;
  std::string show(const void *data, int64_t index) const;

private:
  reference::StorageFormat format;
  int64_t values;
  reference::Blocks blocks;
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_STREAMVIEW_H
