//===- Utf8.cpp - Validation of UTF-8 ---------------------------------------------------------===//

#include "runtime/base/Utf8.h"

#include <cstddef>

using namespace updraft::runtime;

/// The length in bytes of the sequence that begins with `bytes`; 0 if it is invalid.
static size_t sequenceLength(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = at(0);
  if (first < 0x80)
    return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length)
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80)
      return 0;
  const unsigned char second = at(1);
  const bool isOverlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool isSurrogate = first == 0xed && second > 0x9f;
  const bool isTooLarge = first == 0xf4 && second > 0x8f;
  return isOverlong || isSurrogate || isTooLarge ? 0 : length;
}

bool updraft::runtime::isUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = sequenceLength(bytes);
    if (length == 0)
      return false;
    bytes.remove_prefix(length);
  }
  return true;
}
