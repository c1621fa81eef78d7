//===- GuardedBuffer.h - Memory that detects writes around it -----------------------*- C++ -*-===//
// A tensor's memory for the differential tests. It starts at any element of a cache line, and the
// bytes before and after it are checked.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_GUARDEDBUFFER_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_GUARDEDBUFFER_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace updraft::differential {

class GuardedBuffer {
public:
  GuardedBuffer() = default;

  /// `offset` is in bytes, from the start of a cache line.
  GuardedBuffer(size_t size, size_t offset)
      : payload(size), begin(guard + offset),
        total((begin + size + guard + line - 1) / line * line),
        bytes(static_cast<unsigned char *>(std::aligned_alloc(line, total)), &std::free) {
    std::fill_n(bytes.get(), total, pattern);
  }

  unsigned char *data() const { return bytes.get() + begin; }
  size_t size() const { return payload; }

  bool isIntact() const {
    const auto untouched = [](unsigned char byte) { return byte == pattern; };
    return std::all_of(bytes.get(), bytes.get() + begin, untouched) &&
           std::all_of(bytes.get() + begin + payload, bytes.get() + total, untouched);
  }

private:
  static constexpr size_t line = 64;
  static constexpr size_t guard = 2 * line; // more than the widest store
  static constexpr unsigned char pattern = 0xa5;

  size_t payload = 0;
  size_t begin = 0;
  size_t total = 0;
  std::unique_ptr<unsigned char, decltype(&std::free)> bytes{nullptr, &std::free};
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_GUARDEDBUFFER_H
