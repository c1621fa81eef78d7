//===- ScalarStorage.h - Storage types from and to double, bit by bit ---------------*- C++ -*-===//
// Doesn't include or call anything, so that it also compiles for GPUs.

#ifndef UPDRAFT_RUNTIME_BASE_SCALARSTORAGE_H
#define UPDRAFT_RUNTIME_BASE_SCALARSTORAGE_H

#include "updraft-c/types.h"

#include <stdint.h>

namespace updraft::runtime {

/// A 16-bit format: a sign, an exponent, and this many bits of a fraction.
struct Format16 {
  int fractionBits;
  int bias;
};
constexpr Format16 formatOf(upd_dtype dtype) {
  return dtype == UPD_F16 ? Format16{10, 15} : Format16{7, 127};
}

/// Rounds once, to nearest, ties to even. A conversion through float would round twice.
inline uint16_t encode16(double value, Format16 format) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const int largest = (1 << (15 - format.fractionBits)) - 1; // exponent field
  const auto infinity = static_cast<uint16_t>(largest << format.fractionBits);
  if (field == 0x7ff)
    return sign | infinity |
           static_cast<uint16_t>(fraction != 0 ? 1 << (format.fractionBits - 1) : 0);
  // A subnormal double rounds to 0.
  int exponent = field - 1023 + format.bias;
  if (field == 0 || exponent < -format.fractionBits)
    return sign;
  if (exponent >= largest)
    return sign | infinity;
  uint64_t significand = fraction | uint64_t(1) << 52;
  int dropped = 52 - format.fractionBits;
  if (exponent < 1) {
    dropped += 1 - exponent;
    exponent = 1;
  }
  uint64_t kept = significand >> dropped;
  const uint64_t rest = significand & ((uint64_t(1) << dropped) - 1);
  const uint64_t half = uint64_t(1) << (dropped - 1);
  kept += rest > half || (rest == half && (kept & 1)) ? 1 : 0;
  // The implicit bit adds one to the exponent field, and so does a carry.
  return sign |
         static_cast<uint16_t>((static_cast<uint64_t>(exponent - 1) << format.fractionBits) + kept);
}

inline double decode16(uint16_t bits, Format16 format) {
  const int largest = (1 << (15 - format.fractionBits)) - 1;
  const int field = bits >> format.fractionBits & largest;
  const auto fraction = static_cast<uint64_t>(bits & ((1 << format.fractionBits) - 1));
  const uint64_t sign = static_cast<uint64_t>(bits & 0x8000) << 48;
  uint64_t result;
  double value;
  if (field == largest && fraction != 0) {
    result = uint64_t(0x7ff8) << 48;
  } else if (field == 0) {
    // An integer multiple of the smallest value, which is a power of two.
    const auto smallest = static_cast<uint64_t>(1023 + 1 - format.bias - format.fractionBits) << 52;
    __builtin_memcpy(&value, &smallest, sizeof(value));
    value *= static_cast<double>(fraction);
    __builtin_memcpy(&result, &value, sizeof(result));
  } else {
    const int exponent = field == largest ? 0x7ff : field - format.bias + 1023;
    result = static_cast<uint64_t>(exponent) << 52 | fraction << (52 - format.fractionBits);
  }
  result |= sign;
  __builtin_memcpy(&value, &result, sizeof(value));
  return value;
}

/// The types that a scalar state can have are f32, f64, bf16 and f16.
inline double loadScalar(upd_dtype dtype, const void *element) {
  if (dtype == UPD_F64)
    return *static_cast<const double *>(element);
  if (dtype == UPD_F32)
    return static_cast<double>(*static_cast<const float *>(element));
  return decode16(*static_cast<const uint16_t *>(element), formatOf(dtype));
}

/// Rounds to nearest, ties to even.
inline void storeScalar(upd_dtype dtype, double value, void *element) {
  if (dtype == UPD_F64)
    *static_cast<double *>(element) = value;
  else if (dtype == UPD_F32)
    *static_cast<float *>(element) = static_cast<float>(value);
  else
    *static_cast<uint16_t *>(element) = encode16(value, formatOf(dtype));
}

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_SCALARSTORAGE_H
