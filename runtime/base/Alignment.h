//===- Alignment.h - Where tensors start in a block of memory -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_ALIGNMENT_H
#define UPDRAFT_RUNTIME_BASE_ALIGNMENT_H

#include <cstddef>

namespace updraft::runtime {

/// States and temporaries start at multiples of this many bytes.
constexpr size_t tensorAlignment = 64;

/// Rounds a size up, so that what follows is aligned.
constexpr size_t alignedSize(size_t bytes) {
  return (bytes + tensorAlignment - 1) / tensorAlignment * tensorAlignment;
}

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_ALIGNMENT_H
