//===- BlockedFormat.h - Blocks of 8-bit codes, one element at a time ---------------*- C++ -*-===//
// The block-quantised formats of docs/numerics.md, written like their equations. A buffer holds one
// code per element. The scales of the blocks follow at the next multiple of four bytes.

#ifndef UPDRAFT_REFERENCE_BLOCKEDFORMAT_H
#define UPDRAFT_REFERENCE_BLOCKEDFORMAT_H

#include "updraft/Reference/Reduction.h"
#include "updraft/Reference/StorageFormat.h"

#include <vector>

namespace updraft::reference {

/// Whether elements are codes, and the elements of a block share a scale.
inline bool isBlocked(StorageFormat format) {
  return format == StorageFormat::Q8Linear || format == StorageFormat::Q8Companded;
}

/// The positions of a tensor's blocks.
class Blocks {
public:
  static constexpr int64_t size = 256;

  /// Creates blocks from the columns of each row if `byRows`, else from all elements.
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

/// Returns the value of element `index`.
float loadElement(StorageFormat format, const Blocks &blocks, const void *data, int64_t index);

/// Stores all elements; `values` has one value per element.
void storeElements(StorageFormat format, const Blocks &blocks, void *data,
                   const std::vector<float> &values);

/// Sets each element to `value`, exactly.
void fillElements(StorageFormat format, const Blocks &blocks, void *data, float value);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_BLOCKEDFORMAT_H
