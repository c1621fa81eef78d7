//===- DType.cpp - Conversion of elements from and to double ----------------------------------===//

#include "runtime/base/DType.h"

#include "runtime/base/ScalarStorage.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

using namespace updraft::runtime;

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
  case UPD_BF16: {
    const uint16_t bits = encode16(value, formatOf(UPD_BF16));
    std::memcpy(element, &bits, sizeof(bits));
    return;
  }
  case UPD_F16: {
    const uint16_t bits = encode16(value, formatOf(UPD_F16));
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
  case UPD_F16: {
    uint16_t bits;
    std::memcpy(&bits, element, sizeof(bits));
    return decode16(bits, formatOf(dtype));
  }
  case UPD_Q8_LINEAR:
  case UPD_Q8_COMPANDED:
    return 0;
  }
  return 0;
}
