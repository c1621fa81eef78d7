//===- QuantBlocks.h - The blocks of a quantised state ------------------------------*- C++ -*-===//
// A block is a sequence of elements in memory order or, in a plan for matrices, of columns of one
// row. It has one scale. The scales follow the codes.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_QUANTBLOCKS_H
#define UPDRAFT_RUNTIME_OPTIMIZER_QUANTBLOCKS_H

#include "runtime/base/PlanInterface.h"
#include "runtime/base/TensorShape.h"
#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>

namespace updraft::runtime {

class QuantBlocks {
public:
  QuantBlocks(const TensorShape &shape, TensorClass plan)
      : sequence(plan == TensorClass::Matrix ? shape.columns : shape.elements()),
        elements(shape.elements()) {}

  /// The number of blocks in a row, or in the whole tensor.
  int64_t perSequence() const { return (sequence + UPD_QUANT_BLOCK - 1) / UPD_QUANT_BLOCK; }
  int64_t count() const { return startedBefore(elements); }
  /// The number of blocks that start before an element.
  int64_t startedBefore(int64_t element) const {
    if (sequence == 0)
      return 0;
    return element / sequence * perSequence() +
           (element % sequence + UPD_QUANT_BLOCK - 1) / UPD_QUANT_BLOCK;
  }

  /// In bytes: the offset of the scales from the codes, and the size of both.
  size_t scalesOffset() const { return (static_cast<size_t>(elements) + 3) / 4 * 4; }
  size_t bytes() const { return scalesOffset() + static_cast<size_t>(count()) * sizeof(float); }
  void *scalesOf(void *codes) const {
    return codes ? static_cast<char *>(codes) + scalesOffset() : nullptr;
  }

private:
  int64_t sequence;
  int64_t elements;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_QUANTBLOCKS_H
