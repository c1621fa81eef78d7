//===- Inputs.cpp - Elements to run rules on --------------------------------------------------===//

#include "Inputs.h"

#include <bit>
#include <cstring>
#include <limits>

using namespace updraft;

namespace {

/// Values at the edges of a format.
struct Edges {
  double smallest; // denormal
  double smallestNormal;
  double largest;
};

Edges edgesOf(reference::StorageFormat format) {
  switch (format) {
  case reference::StorageFormat::F64:
    return {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
            std::numeric_limits<double>::max()};
  case reference::StorageFormat::F32:
    return {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
            std::numeric_limits<float>::max()};
  case reference::StorageFormat::BF16:
    return {0x1p-133, 0x1p-126, 0x1.fep127};
  case reference::StorageFormat::F16:
    return {0x1p-24, 0x1p-14, 65504};
  case reference::StorageFormat::I8:
    break; // any byte is valid
  case reference::StorageFormat::Q8Linear:
  case reference::StorageFormat::Q8Companded:
    break; // filled by blocks
  }
  return {};
}

double specialValue(const Edges &edges, uint64_t choice) {
  switch (choice % 12) {
  case 1:
    return std::numeric_limits<double>::infinity();
  case 2:
  case 10:
  case 11:
    return 0;
  case 3:
    return edges.smallest;
  case 4:
    return 5 * edges.smallest;
  case 5:
    return edges.smallestNormal;
  case 6:
    return edges.smallestNormal - edges.smallest;
  case 7:
    return edges.largest;
  case 8:
    return edges.largest / 3;
  default:
    return 1;
  }
}

/// A magnitude from 2^-14 to 4, from the lowest 56 bits. The library's distributions would take a
/// fifth of the time of all tests.
double ordinaryValue(uint64_t bits) {
  const uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  const uint64_t exponent = 1024 - (bits >> 52) % 16;
  return std::bit_cast<double>(exponent << 52 | mantissa);
}

} // namespace

std::span<const uint64_t> updraft::differential::anyNaNs() {
  static constexpr uint64_t encodings[] = {0x7ff8000000000000, // the processors' default NaN
                                           0xfff8000000000000, 0xffffffffffffffff,
                                           0x7fffffffffffffff,
                                           0x7ff8000000000001, // only in bits that f32 lacks
                                           0xfff8000020000000, // the last bit of f32
                                           0x7fffffffe0000000, // all bits of f32
                                           0xfff8001000000000, // rounding to bf16 would carry
                                           0x7ff0000000000001, // signalling
                                           0xfff7ffffffffffff};
  return encodings;
}

void updraft::differential::storeNaN(reference::StorageFormat format, void *data, int64_t index,
                                     uint64_t encoding) {
  const auto store = [&](auto bits) {
    std::memcpy(static_cast<char *>(data) + index * int64_t(sizeof bits), &bits, sizeof bits);
  };
  // Keeps the upper bits and sets the last one, so that the payload isn't zero.
  const uint64_t sign = encoding >> 63, payload = encoding << 12 >> 12;
  switch (format) {
  case reference::StorageFormat::F64:
    return store(encoding);
  case reference::StorageFormat::F32:
    return store(uint32_t(sign << 31 | 0x7f800001 | payload >> 29));
  case reference::StorageFormat::BF16:
    return store(uint16_t(sign << 15 | 0x7f81 | payload >> 45));
  case reference::StorageFormat::F16:
    return store(uint16_t(sign << 15 | 0x7c01 | payload >> 42));
  default:
    return reference::storeElement(format, data, index, std::bit_cast<double>(encoding));
  }
}

void updraft::differential::fillElements(reference::StorageFormat format, void *data, int64_t count,
                                         std::mt19937_64 &random, bool specials) {
  const Edges edges = edgesOf(format);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t choice = random();
    if (format == reference::StorageFormat::I8) {
      reference::storeElement(format, data, i, int8_t(choice));
      continue;
    }
    double value;
    if (specials && (choice >> 56) % 8 == 0 && choice % 12 == 0) {
      storeNaN(format, data, i, anyNaNs()[choice / 12 % anyNaNs().size()]);
      continue;
    }
    if (specials && (choice >> 56) % 8 == 0)
      value = specialValue(edges, choice);
    else
      value = ordinaryValue(choice);
    reference::storeElement(format, data, i, choice >> 63 ? -value : value);
  }
}
