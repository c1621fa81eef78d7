//===- StorageFormat.cpp - Storage types in plain C++ -----------------------------------------===//

#include "StorageFormat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace updraft::test {

const StorageFormat f32{"f32", 32, 24, 127}, f64{"f64", 64, 53, 1023}, bf16{"bf16", 16, 8, 127},
    f16{"f16", 16, 11, 15};

std::vector<const StorageFormat *> allFormats() { return {&f32, &f64, &bf16, &f16}; }

uint64_t StorageFormat::finiteCount() const {
  return (uint64_t(2 * maximumExponent + 1)) << (precision - 1);
}

double StorageFormat::decode(uint64_t encoding) const {
  double sign = encoding & signBit() ? -1.0 : 1.0;
  encoding &= ~signBit();
  if (encoding > infinity())
    return std::numeric_limits<double>::quiet_NaN();
  if (encoding == infinity())
    return sign * std::numeric_limits<double>::infinity();
  uint64_t fraction = encoding & ((uint64_t(1) << (precision - 1)) - 1);
  int exponent = static_cast<int>(encoding >> (precision - 1));
  if (exponent == 0)
    exponent = 1;
  else
    fraction |= uint64_t(1) << (precision - 1);
  return sign *
         std::ldexp(static_cast<double>(fraction), exponent - maximumExponent - (precision - 1));
}

uint64_t StorageFormat::encode(double value) const {
  if (std::isnan(value))
    return aNaN();
  uint64_t sign = std::signbit(value) ? signBit() : 0;
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | infinity();
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), minimumExponent());
  // In units of the last place: an integer after rounding to nearest even. A carry into the next
  // binade gives the right encoding, and one past the last binade gives infinity.
  double units = std::nearbyint(std::ldexp(magnitude, precision - 1 - exponent));
  uint64_t encoding =
      static_cast<uint64_t>(units) + (uint64_t(exponent - minimumExponent()) << (precision - 1));
  return sign | std::min(encoding, infinity());
}

std::vector<std::byte> pack(const StorageFormat &format, const std::vector<uint64_t> &encodings) {
  std::vector<std::byte> memory(encodings.size() * format.bytes());
  for (size_t i = 0; i < encodings.size(); ++i)
    writeElement(format, memory.data(), i, encodings[i]);
  return memory;
}

uint64_t readElement(const StorageFormat &format, const std::byte *base, size_t index) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t encoding = 0;
  std::memcpy(&encoding, base + index * format.bytes(), format.bytes());
  return encoding;
}

void writeElement(const StorageFormat &format, std::byte *base, size_t index, uint64_t encoding) {
  std::memcpy(base + index * format.bytes(), &encoding, format.bytes());
}

std::vector<uint64_t> edgeEncodings(const StorageFormat &format) {
  uint64_t smallestNormal = uint64_t(1) << (format.precision - 1);
  uint64_t one = format.encode(1.0);
  std::vector<uint64_t> encodings{0,
                                  1,
                                  2,
                                  3,
                                  smallestNormal / 2,
                                  smallestNormal - 1,
                                  smallestNormal,
                                  smallestNormal + 1,
                                  one - 1,
                                  one,
                                  one + 1,
                                  format.encode(0.1),
                                  format.encode(3.0),
                                  format.encode(1000.0),
                                  format.infinity() - 2,
                                  format.infinity() - 1,
                                  format.infinity(),
                                  format.infinity() +
                                      1, // a signalling NaN, payload in the last bit
                                  format.aNaN(),
                                  format.signBit() - 1};
  for (size_t i = 0, count = encodings.size(); i < count; ++i)
    encodings.push_back(encodings[i] | format.signBit());
  return encodings;
}

} // namespace updraft::test
