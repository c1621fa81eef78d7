//===- StreamView.cpp - The memory of a stream, in any storage type ---------------------------===//

#include "StreamView.h"

#include "ElementText.h"
#include "Inputs.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace updraft;
using namespace updraft::differential;
using reference::StorageFormat;

StreamView::StreamView(const reference::Interpreter &rule, size_t index,
                       const reference::Shape &shape)
    : format(rule.streams()[index].format), values(shape.places(rule.streams()[index].over)),
      blocks(shape, rule.isMatrix()) {}

size_t StreamView::bytes() const {
  return isBlocked(format) ? blocks.bytes() : values * elementSize(format);
}

size_t StreamView::alignment() const {
  return isBlocked(format) ? sizeof(float) : elementSize(format);
}

void StreamView::fillRandom(void *data, std::mt19937_64 &random, bool specials) const {
  if (!isBlocked(format))
    return fillElements(format, data, values, random, specials);
  std::vector<float> all(values);
  fillElements(StorageFormat::F32, all.data(), values, random, specials);
  for (int64_t i = 0; i < values; ++i) {
    // A special value would affect its whole block, so some blocks have none, and some no negative
    // values.
    const uint64_t kind = blocks.blockOf(i) % 4;
    if (kind != 0 && !std::isfinite(all[i]))
      all[i] = 1;
    if (kind == 2)
      all[i] = std::fabs(all[i]);
  }
  storeElements(format, blocks, data, all);
}

void StreamView::fill(void *data, double value) const {
  if (isBlocked(format))
    return reference::fillElements(format, blocks, data, float(value));
  for (int64_t i = 0; i < values; ++i)
    storeElement(format, data, i, value);
}

static float scaleOf(const reference::Blocks &blocks, const void *data, int64_t block) {
  float scale;
  std::memcpy(&scale, static_cast<const char *>(data) + blocks.scalesOffset() + 4 * block, 4);
  return scale;
}

std::optional<int64_t> StreamView::firstDifference(const void *compiled,
                                                   const void *interpreted) const {
  if (!isBlocked(format))
    return differential::firstDifference(format, compiled, interpreted, values);
  for (int64_t i = 0; i < values; ++i) {
    const float a = scaleOf(blocks, compiled, blocks.blockOf(i));
    const float b = scaleOf(blocks, interpreted, blocks.blockOf(i));
    const bool sameScale = (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, 4) == 0;
    if (!sameScale ||
        static_cast<const char *>(compiled)[i] != static_cast<const char *>(interpreted)[i])
      return i;
  }
  return std::nullopt;
}

std::string StreamView::show(const void *data, int64_t index) const {
  if (!isBlocked(format))
    return differential::show(format, data, index);
  std::string text;
  llvm::raw_string_ostream(text) << int(static_cast<const uint8_t *>(data)[index])
                                 << llvm::format(" at scale %a (%a)",
                                                 scaleOf(blocks, data, blocks.blockOf(index)),
                                                 loadElement(format, blocks, data, index));
  return text;
}
