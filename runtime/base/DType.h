//===- DType.h - Element types: sizes and names -------------------------------------*- C++ -*-===//
// What the runtime knows of the C API's upd_dtype. A value from outside is checked with
// isKnownDType before it is given to another function.

#ifndef UPDRAFT_RUNTIME_BASE_DTYPE_H
#define UPDRAFT_RUNTIME_BASE_DTYPE_H

#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace updraft::runtime {

inline bool isKnownDType(upd_dtype value) { return value >= UPD_F32 && value <= UPD_Q8_COMPANDED; }

/// Elements are codes, and those of a block share a scale.
inline bool isBlocked(upd_dtype dtype) {
  return dtype == UPD_Q8_LINEAR || dtype == UPD_Q8_COMPANDED;
}

/// In bytes, of one element; without the scales of blocks.
inline size_t sizeOf(upd_dtype dtype) {
  switch (dtype) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  case constant:                                                                                   \
    return bytes;
#include "updraft-c/dtypes.def"
  }
  return 0;
}

/// As the language writes it; ends with a null character.
inline std::string_view nameOf(upd_dtype dtype) {
  switch (dtype) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  case constant:                                                                                   \
    return name;
#include "updraft-c/dtypes.def"
  }
  return "unknown";
}

inline std::optional<upd_dtype> parseDType(std::string_view text) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  if (text == (name))                                                                              \
    return constant;
#include "updraft-c/dtypes.def"
  return std::nullopt;
}

/// Writes `value`, rounded to the nearest value of `dtype`, ties to even, to `element`. A byte
/// takes the nearest integer that it holds. Not for block-quantised types.
void storeRounded(upd_dtype dtype, double value, void *element);

/// The value of `element`, which every double holds. Not for block-quantised types.
double loadExact(upd_dtype dtype, const void *element);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_DTYPE_H
