//===- BlockedFormat.cpp - Blocks of 8-bit codes, one element at a time -----------------------===//

#include "updraft/Reference/BlockedFormat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace updraft::reference;

namespace {

constexpr int bias = 128; // of the codes of blocks with negative values

float scaleAt(const Blocks &blocks, const void *data, int64_t block) {
  float scale;
  std::memcpy(&scale, static_cast<const char *>(data) + blocks.scalesOffset() + 4 * block, 4);
  return scale;
}

void setScale(const Blocks &blocks, void *data, int64_t block, float scale) {
  std::memcpy(static_cast<char *>(data) + blocks.scalesOffset() + 4 * block, &scale, 4);
}

uint8_t &codeAt(void *data, int64_t index) { return static_cast<uint8_t *>(data)[index]; }

/// Properties of a block that determine its codes.
struct Block {
  bool negative = false; // some value is less than 0
  bool finite = true;
  float largest = 0; // magnitude

  void add(float value) {
    negative |= value < 0;
    finite &= std::isfinite(value);
    largest = std::max(largest, std::fabs(value));
  }
};

/// Returns the number of units of the largest magnitude.
float unitsOf(StorageFormat format, const Block &block) {
  const float code = block.negative ? 127 : 255;
  return format == StorageFormat::Q8Companded ? code * code : code;
}

/// Encodes a value; `perUnit` times the value is its number of units.
int codeOf(StorageFormat format, const Block &block, float perUnit, float value) {
  double root = value, perRoot = perUnit;
  if (format == StorageFormat::Q8Companded) {
    root = std::copysign(std::sqrt(std::fabs(value)), value);
    perRoot = std::sqrt(perUnit);
  }
  const int code = int(std::nearbyint(root * perRoot)); // the product of two floats is exact
  if (block.negative)
    return code + bias;
  return value == 0 ? 0 : std::max(code, 1);
}

} // namespace

Blocks::Blocks(const Shape &shape, bool byRows)
    : total(shape.count()), rows(byRows ? shape.places(Extent::row) : 1),
      columns(byRows ? shape.columns : total), perRow((columns + size - 1) / size) {}

float updraft::reference::loadElement(StorageFormat format, const Blocks &blocks, const void *data,
                                      int64_t index) {
  const float scale = scaleAt(blocks, data, blocks.blockOf(index));
  const float code = static_cast<const uint8_t *>(data)[index] - (std::signbit(scale) ? bias : 0);
  const float units = format == StorageFormat::Q8Companded ? code * std::fabs(code) : code;
  return units * std::fabs(scale);
}

void updraft::reference::storeElements(StorageFormat format, const Blocks &blocks, void *data,
                                       const std::vector<float> &values) {
  std::vector<Block> all(blocks.count());
  for (int64_t i = 0; i < blocks.elements(); ++i)
    all[blocks.blockOf(i)].add(values[i]);
  std::vector<float> perUnit;
  perUnit.reserve(all.size());
  for (const Block &block : all)
    perUnit.push_back(unitsOf(format, block) / block.largest);
  for (int64_t i = 0; i < blocks.elements(); ++i) {
    const int64_t number = blocks.blockOf(i);
    const Block &block = all[number];
    const bool hasCodes = block.finite && std::isfinite(perUnit[number]);
    codeAt(data, i) = hasCodes ? codeOf(format, block, perUnit[number], values[i]) : 0;
    const float unit = block.largest / unitsOf(format, block);
    setScale(blocks, data, number,
             !block.finite ? std::numeric_limits<float>::quiet_NaN()
             : !hasCodes   ? 0
                           : (block.negative ? -unit : unit));
  }
}

void updraft::reference::fillElements(StorageFormat, const Blocks &blocks, void *data,
                                      float value) {
  for (int64_t i = 0; i < blocks.elements(); ++i)
    codeAt(data, i) = value == 0 ? 0 : value < 0 ? bias - 1 : 1;
  for (int64_t i = 0; i < blocks.count(); ++i)
    setScale(blocks, data, i, value == 0 ? 0 : value);
}
