//===- BlockedFormat.h - Blocks of 8-bit codes, one element at a time ---------------*- C++ -*-===//
// The block-quantised formats of docs/numerics.md, as their equations say. A buffer holds one code
// for each element, and from the next multiple of four bytes on the scales of the blocks.

#ifndef UPDRAFT_REFERENCE_BLOCKEDFORMAT_H
#define UPDRAFT_REFERENCE_BLOCKEDFORMAT_H

#include "updraft/Reference/Reduction.h"
#include "updraft/Reference/StorageFormat.h"

#include <vector>

namespace updraft::reference {

/// Elements are codes, and those of a block share a scale.
inline bool isBlocked(StorageFormat format) {
  return format == StorageFormat::Q8Linear || format == StorageFormat::Q8Companded;
}

/// Where the blocks of a tensor lie.
class Blocks {
public:
  static constexpr int64_t size = 256;

  /// Blocks of the columns of each row if `byRows`, else of all elements.
  Blocks(const Shape &shape, bool byRows);

  int64_t elements() const { return total; }
  int64_t count() const { return rows * perRow; }
  int64_t blockOf(int64_t element) const {
    return element / columns * perRow + element % columns / size;
  }
  int64_t scalesOffset() const { return (total + 3) / 4 * 4; }
  int64_t bytes() const { return scalesOffset() + 4 * count(); }

private:
  int64_t total;
  int64_t rows;
  int64_t columns;
  int64_t perRow;
};

/// The value of element `index`.
float loadElement(StorageFormat format, const Blocks &blocks, const void *data, int64_t index);

/// Writes a value for each element.
void storeElements(StorageFormat format, const Blocks &blocks, void *data,
                   const std::vector<float> &values);

/// Makes `value` the value of each element, exactly.
void fillElements(StorageFormat format, const Blocks &blocks, void *data, float value);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_BLOCKEDFORMAT_H
