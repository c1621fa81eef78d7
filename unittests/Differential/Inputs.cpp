//===- Inputs.cpp - Elements to run rules on --------------------------------------------------===//

#include "Inputs.h"

#include <bit>
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
    break; // any byte is as good
  case reference::StorageFormat::Q8Linear:
  case reference::StorageFormat::Q8Companded:
    break; // filled by blocks
  }
  return {};
}

double specialValue(const Edges &edges, uint64_t choice) {
  switch (choice % 12) {
  case 0:
    return std::numeric_limits<double>::quiet_NaN();
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

/// A magnitude from 2^-14 to 4, made of the lowest 56 bits. The library's distributions would take
/// a fifth of the time of all tests.
double ordinaryValue(uint64_t bits) {
  const uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  const uint64_t exponent = 1024 - (bits >> 52) % 16;
  return std::bit_cast<double>(exponent << 52 | mantissa);
}

} // namespace

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
    if (specials && (choice >> 56) % 8 == 0)
      value = specialValue(edges, choice);
    else
      value = ordinaryValue(choice);
    reference::storeElement(format, data, i, choice >> 63 ? -value : value);
  }
}
