//===- StorageFormat.cpp - Elements in memory, one at a time ----------------------------------===//

#include "updraft/Reference/StorageFormat.h"

#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace updraft::reference;

namespace {

/// A 16-bit binary floating-point format: a sign, an exponent, a fraction.
struct NarrowFormat {
  int fractionBits;
  int minExponent; // of the smallest normal value
  int maxExponent; // of the largest finite value

  int bias() const { return maxExponent; }
  uint16_t infinity() const { return (2 * maxExponent + 1) << fractionBits; }
  uint16_t quietNaN() const { return infinity() | 1 << (fractionBits - 1); }
};

constexpr NarrowFormat bf16 = {7, -126, 127};
constexpr NarrowFormat f16 = {10, -14, 15};

/// The value of an encoding: (-1)^sign * 1.fraction * 2^exponent, or 0.fraction for denormals.
double decode(NarrowFormat format, uint16_t bits) {
  const uint16_t magnitude = bits & 0x7fff;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (magnitude > format.infinity())
    return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == format.infinity())
    return sign * std::numeric_limits<double>::infinity();
  const int fraction = magnitude & ((1 << format.fractionBits) - 1);
  const int exponent = magnitude >> format.fractionBits;
  if (exponent == 0)
    return sign * std::ldexp(fraction, format.minExponent - format.fractionBits);
  return sign * std::ldexp((1 << format.fractionBits) + fraction,
                           exponent - format.bias() - format.fractionBits);
}

/// The encoding of the nearest value: the magnitude is counted in units of the last place, which is
/// the same for all values of one exponent, and for all denormals.
uint16_t encode(NarrowFormat format, double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | format.quietNaN();
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude) || std::ilogb(magnitude) > format.maxExponent)
    return sign | format.infinity();
  const int exponent = std::max(std::ilogb(magnitude), format.minExponent);
  // Scaling by a power of two is exact here; the default rounding of nearbyint is ties to even.
  const double units = std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent));
  // A normal magnitude has its leading one in `units`, which counts as one exponent: adding carries
  // it, as it carries a fraction that was rounded up to the next power of two, or to infinity.
  return sign | ((exponent - format.minExponent) << format.fractionBits) + int(units);
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
  }
}
