//===- ElementComparison.cpp - Whether elements have the same bits ----------------------------===//

#include "runtime/base/ElementComparison.h"

#include <cstring>

using namespace updraft::runtime;

/// Returns the bits of positive infinity, or all bits for types without NaNs.
static uint64_t infinityOf(SafetensorsType type) {
  switch (type) {
  case SafetensorsType::F64:
    return 0x7ff0000000000000;
  case SafetensorsType::F32:
    return 0x7f800000;
  case SafetensorsType::BF16:
    return 0x7f80;
  case SafetensorsType::F16:
    return 0x7c00;
  case SafetensorsType::I64:
  case SafetensorsType::I8:
  case SafetensorsType::U8:
    break;
  }
  return ~uint64_t(0);
}

static bool isNaN(SafetensorsType type, const char *element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, sizeOf(type)); // x86-64 and AArch64 are little-endian
  const uint64_t sign = uint64_t(1) << (8 * sizeOf(type) - 1);
  return (bits & ~sign) > infinityOf(type);
}

size_t updraft::runtime::firstDifference(SafetensorsType type, const void *a, const void *b,
                                         size_t count) {
  const size_t size = sizeOf(type);
  const auto *left = static_cast<const char *>(a), *right = static_cast<const char *>(b);
  for (size_t i = 0; i < count; ++i, left += size, right += size)
    if (std::memcmp(left, right, size) != 0 && !(isNaN(type, left) && isNaN(type, right)))
      return i;
  return count;
}
