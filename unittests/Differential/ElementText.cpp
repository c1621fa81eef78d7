//===- ElementText.cpp - Compares and prints elements of two sides ----------------------------===//

#include "ElementText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using updraft::reference::StorageFormat;
namespace reference = updraft::reference;

std::string updraft::differential::show(StorageFormat format, const void *data, int64_t index) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const unsigned size = elementSize(format);
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char *>(data) + index * size, size);
  os << llvm::format_hex(bits, 2 + 2 * size)
     << llvm::format(" (%a)", reference::loadElement(format, data, index));
  return text;
}

std::optional<int64_t> updraft::differential::firstDifference(StorageFormat format,
                                                              const void *compiled,
                                                              const void *interpreted,
                                                              int64_t count) {
  const unsigned size = elementSize(format);
  if (count == 0 || std::memcmp(compiled, interpreted, count * size) == 0)
    return std::nullopt;
  for (int64_t i = 0; i < count; ++i) {
    if (std::memcmp(static_cast<const char *>(compiled) + i * size,
                    static_cast<const char *>(interpreted) + i * size, size) == 0)
      continue;
    if (!std::isnan(reference::loadElement(format, compiled, i)) ||
        !std::isnan(reference::loadElement(format, interpreted, i)))
      return i;
  }
  return std::nullopt;
}
