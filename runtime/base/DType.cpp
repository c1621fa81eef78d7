//===- DType.cpp - Storage types from and to double -------------------------------------------===//

#include "runtime/base/DType.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

using namespace updraft::runtime;

/// The encoding of a format with 16 bits. Rounds once, from the double: rounding to float first
/// would round twice.
static uint16_t encode16(double value, int fractionBits, int minExponent, int maxExponent) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>((2 * maxExponent + 1) << fractionBits);
  if (std::isnan(value))
    return sign | infinity | 1 << (fractionBits - 1);
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude) || std::ilogb(magnitude) > maxExponent)
    return sign | infinity;
  const int exponent = std::max(std::ilogb(magnitude), minExponent);
  const double units = std::nearbyint(std::ldexp(magnitude, fractionBits - exponent));
  // The leading one of a normal number adds one to the exponent field, which starts from zero for
  // the smallest normal numbers; a carry from rounding moves into it by itself.
  return sign | static_cast<uint16_t>(((exponent - minExponent) << fractionBits) +
                                      static_cast<int>(units));
}

void updraft::runtime::storeRounded(upd_dtype dtype, double value, void *element) {
  switch (dtype) {
  case UPD_F32: {
    const float rounded = static_cast<float>(value);
    std::memcpy(element, &rounded, sizeof(rounded));
    return;
  }
  case UPD_F64:
    std::memcpy(element, &value, sizeof(value));
    return;
  case UPD_BF16:
  case UPD_BF16_STOCHASTIC:
  case UPD_BF16_CORRECTED: {
    const uint16_t bits = encode16(value, 7, -126, 127);
    std::memcpy(element, &bits, sizeof(bits));
    return;
  }
  case UPD_F16: {
    const uint16_t bits = encode16(value, 10, -14, 15);
    std::memcpy(element, &bits, sizeof(bits));
    return;
  }
  case UPD_I8: {
    const double held = std::isnan(value) ? 0 : std::clamp(value, -128.0, 127.0);
    const auto integer = static_cast<int8_t>(std::nearbyint(held));
    std::memcpy(element, &integer, sizeof(integer));
    return;
  }
  case UPD_Q8_LINEAR:
  case UPD_Q8_COMPANDED:
    return;
  }
}

static double decode16(uint16_t bits, int fractionBits, int minExponent) {
  const int exponentBits = 15 - fractionBits;
  const int field = bits >> fractionBits & ((1 << exponentBits) - 1);
  const int fraction = bits & ((1 << fractionBits) - 1);
  double magnitude;
  if (field == (1 << exponentBits) - 1)
    magnitude = fraction ? NAN : INFINITY;
  else if (field == 0)
    magnitude = std::ldexp(fraction, minExponent - fractionBits);
  else
    magnitude = std::ldexp(fraction + (1 << fractionBits), field - 1 + minExponent - fractionBits);
  return std::copysign(magnitude, bits & 0x8000 ? -1.0 : 1.0);
}

double updraft::runtime::loadExact(upd_dtype dtype, const void *element) {
  switch (dtype) {
  case UPD_F32: {
    float value;
    std::memcpy(&value, element, sizeof(value));
    return value;
  }
  case UPD_F64: {
    double value;
    std::memcpy(&value, element, sizeof(value));
    return value;
  }
  case UPD_I8: {
    int8_t value;
    std::memcpy(&value, element, sizeof(value));
    return value;
  }
  case UPD_BF16:
  case UPD_BF16_STOCHASTIC:
  case UPD_BF16_CORRECTED:
  case UPD_F16: {
    uint16_t bits;
    std::memcpy(&bits, element, sizeof(bits));
    return dtype == UPD_F16 ? decode16(bits, 10, -14) : decode16(bits, 7, -126);
  }
  case UPD_Q8_LINEAR:
  case UPD_Q8_COMPANDED:
    return 0;
  }
  return 0;
}
