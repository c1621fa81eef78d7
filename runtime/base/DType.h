//===- DType.h - Element types: sizes and names -------------------------------------*- C++ -*-===//
// The runtime's functions for the C API's upd_dtype. Check a value from outside with isKnownDType
// before passing it to another function.

#ifndef UPDRAFT_RUNTIME_BASE_DTYPE_H
#define UPDRAFT_RUNTIME_BASE_DTYPE_H

#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace updraft::runtime {

inline bool isKnownDType(upd_dtype value) { return value >= UPD_F32 && value <= UPD_Q8_COMPANDED; }

/// Elements are codes, and the codes of a block share a scale.
inline bool isBlocked(upd_dtype dtype) {
  return dtype == UPD_Q8_LINEAR || dtype == UPD_Q8_COMPANDED;
}

/// The size of an element in bytes, without the scales of blocks.
inline size_t sizeOf(upd_dtype dtype) {
  switch (dtype) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  case constant:                                                                                   \
    return bytes;
#include "updraft-c/dtypes.def"
  }
  return 0;
}

/// The language's name; ends with a null character.
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

/// Writes `value` to `element`, rounded to the nearest value of `dtype`, ties to even. For a byte,
/// rounds to the nearest integer in its range. Doesn't support block-quantised types.
void storeRounded(upd_dtype dtype, double value, void *element);

/// Returns the value of `element` exactly. Doesn't support block-quantised types.
double loadExact(upd_dtype dtype, const void *element);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_DTYPE_H
