//===- StorageFormat.cpp - Elements in memory, one at a time ----------------------------------===//

#include "updraft/Reference/StorageFormat.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace updraft;
using namespace updraft::reference;

namespace {

/// A binary floating-point format: a sign bit, an exponent and a fraction.
struct NarrowFormat {
  int fractionBits;
  int minExponent; // of the smallest normal value
  int maxExponent; // of the largest finite value

  int bias() const { return maxExponent; }
  uint32_t infinity() const { return (2 * maxExponent + 1) << fractionBits; }
  uint32_t quietNaN() const { return infinity() | 1 << (fractionBits - 1); }
};

constexpr NarrowFormat bf16 = {7, -126, 127};
constexpr NarrowFormat f16 = {10, -14, 15};
/// bf16 with 8 additional bits.
constexpr NarrowFormat bf24 = {15, -126, 127};

/// Decodes an absolute value: 1.fraction * 2^exponent, or 0.fraction for denormals.
double decodeMagnitude(NarrowFormat format, uint32_t magnitude) {
  if (magnitude > format.infinity())
    return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == format.infinity())
    return std::numeric_limits<double>::infinity();
  const int fraction = magnitude & ((1 << format.fractionBits) - 1);
  const int exponent = magnitude >> format.fractionBits;
  if (exponent == 0)
    return std::ldexp(fraction, format.minExponent - format.fractionBits);
  return std::ldexp((1 << format.fractionBits) + fraction,
                    exponent - format.bias() - format.fractionBits);
}

/// Encodes the nearest absolute value. Counts in units of the last place, which is the same for all
/// values with one exponent, and for all denormals.
uint32_t encodeMagnitude(NarrowFormat format, double value) {
  if (std::isnan(value))
    return format.quietNaN();
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return 0;
  if (std::isinf(magnitude) || std::ilogb(magnitude) > format.maxExponent)
    return format.infinity();
  const int exponent = std::max(std::ilogb(magnitude), format.minExponent);
  // Scaling by a power of two is exact here. nearbyint rounds ties to even by default.
  const double units = std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent));
  // In a normal magnitude, the leading one of `units` counts as one exponent. The addition carries
  // it, and also a fraction that was rounded up to the next power of two, or to infinity.
  return ((exponent - format.minExponent) << format.fractionBits) + int(units);
}

double decode(NarrowFormat format, uint16_t bits) {
  return std::copysign(decodeMagnitude(format, bits & 0x7fff), bits & 0x8000 ? -1.0 : 1.0);
}

uint16_t encode(NarrowFormat format, double value) {
  return (std::signbit(value) ? 0x8000 : 0) | encodeMagnitude(format, value);
}

template <typename T> T loadAs(const void *data, int64_t index) {
  T element;
  std::memcpy(&element, static_cast<const char *>(data) + index * int64_t(sizeof(T)), sizeof(T));
  return element;
}

template <typename T> void storeAs(void *data, int64_t index, T element) {
  std::memcpy(static_cast<char *>(data) + index * int64_t(sizeof(T)), &element, sizeof(T));
}

} // namespace

std::optional<StorageFormat> updraft::reference::storageFormat(mlir::Type type) {
  if (mlir::isa<mlir::Float32Type>(type))
    return StorageFormat::F32;
  if (mlir::isa<mlir::Float64Type>(type))
    return StorageFormat::F64;
  if (mlir::isa<mlir::BFloat16Type>(type))
    return StorageFormat::BF16;
  if (mlir::isa<mlir::Float16Type>(type))
    return StorageFormat::F16;
  if (type.isSignlessInteger(8))
    return StorageFormat::I8;
  if (auto blocked = mlir::dyn_cast<BlockedType>(type))
    return blocked.getQuantisation() == Quantisation::linear ? StorageFormat::Q8Linear
                                                             : StorageFormat::Q8Companded;
  return std::nullopt;
}

unsigned updraft::reference::elementSize(StorageFormat format) {
  switch (format) {
  case StorageFormat::F32:
    return 4;
  case StorageFormat::F64:
    return 8;
  case StorageFormat::BF16:
  case StorageFormat::F16:
    return 2;
  case StorageFormat::I8:
  case StorageFormat::Q8Linear:
  case StorageFormat::Q8Companded:
    return 1;
  }
  return 0;
}

double updraft::reference::loadElement(StorageFormat format, const void *data, int64_t index) {
  switch (format) {
  case StorageFormat::F32:
    return loadAs<float>(data, index);
  case StorageFormat::F64:
    return loadAs<double>(data, index);
  case StorageFormat::BF16:
    return decode(bf16, loadAs<uint16_t>(data, index));
  case StorageFormat::F16:
    return decode(f16, loadAs<uint16_t>(data, index));
  case StorageFormat::I8:
    return loadAs<int8_t>(data, index);
  case StorageFormat::Q8Linear:
  case StorageFormat::Q8Companded:
    break;
  }
  return 0;
}

void updraft::reference::storeElement(StorageFormat format, void *data, int64_t index,
                                      double value) {
  switch (format) {
  case StorageFormat::F32:
    return storeAs<float>(data, index, static_cast<float>(value));
  case StorageFormat::F64:
    return storeAs<double>(data, index, value);
  case StorageFormat::BF16:
    return storeAs<uint16_t>(data, index, encode(bf16, value));
  case StorageFormat::F16:
    return storeAs<uint16_t>(data, index, encode(f16, value));
  case StorageFormat::I8:
    if (std::isnan(value))
      value = 0;
    return storeAs<int8_t>(data, index, std::nearbyint(std::clamp(value, -128.0, 127.0)));
  case StorageFormat::Q8Linear:
  case StorageFormat::Q8Companded:
    return;
  }
}

double updraft::reference::roundStochastically(double value, uint16_t random) {
  const double magnitude = std::fabs(static_cast<float>(value));
  if (!std::isfinite(magnitude) || magnitude == 0)
    return static_cast<float>(value);
  const int exponent = std::max(std::ilogb(magnitude), bf16.minExponent) - bf16.fractionBits;
  double units;
  const double rest = std::modf(std::ldexp(magnitude, -exponent), &units);
  if (rest * 65536 + random >= 65536)
    ++units;
  return std::copysign(decodeMagnitude(bf16, encodeMagnitude(bf16, std::ldexp(units, exponent))),
                       value);
}

Corrected updraft::reference::splitCorrected(double value) {
  const float single = static_cast<float>(value);
  if (std::isnan(single))
    return {single, 0};
  const int magnitude = encodeMagnitude(bf24, single);
  const int upper = (magnitude + 128) / 256;
  return {std::copysign(decodeMagnitude(bf16, upper), single), magnitude - 256 * upper};
}

double updraft::reference::combineCorrected(Corrected parts) {
  const int upper = encodeMagnitude(bf16, parts.upper);
  const int magnitude = std::max(256 * upper + parts.correction, 0);
  return std::copysign(decodeMagnitude(bf24, magnitude), parts.upper);
}
