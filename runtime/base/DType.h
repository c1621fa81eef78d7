//===- DType.h - Storage types: sizes and names -------------------------------------*- C++ -*-===//
// What the runtime knows of the C API's upd_dtype. What comes from the outside is read with
// numberOf, and checked with isKnownDType before it is given to anything else here.

#ifndef UPDRAFT_RUNTIME_BASE_DTYPE_H
#define UPDRAFT_RUNTIME_BASE_DTYPE_H

#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace updraft::runtime {

/// The number in memory. Of a struct from the outside it may be none of the enum's values, and may
/// not be read as one.
template <typename Enum> int32_t numberOf(const Enum &value) {
  int32_t number;
  static_assert(sizeof(number) == sizeof(value));
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

/// Of memory.
inline bool isKnownDType(int value) {
  return (value >= UPD_F32 && value <= UPD_F16) || (value >= UPD_Q8_LINEAR && value <= UPD_I8);
}

/// Of a request, how something is to be stored.
inline bool isStorageRequest(int value) { return value >= UPD_F32 && value <= UPD_Q8_COMPANDED; }

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

/// As the language writes it.
inline std::string_view nameOf(upd_dtype dtype) {
  switch (dtype) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  case constant:                                                                                   \
    return name;
#include "updraft-c/dtypes.def"
  }
  return "unknown";
}

/// One of memory.
inline std::optional<upd_dtype> parseDType(std::string_view text) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  if (isKnownDType(constant) && text == (name))                                                    \
    return constant;
#include "updraft-c/dtypes.def"
  return std::nullopt;
}

/// The type that a request names; some, as `bf16_stochastic`, no tensor in memory has.
inline std::optional<upd_dtype> parseStorageRequest(std::string_view text) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  if (isStorageRequest(constant) && text == (name))                                                \
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
