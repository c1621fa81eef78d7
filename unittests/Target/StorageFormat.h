//===- StorageFormat.h - Storage types in plain C++ ---------------------------------*- C++ -*-===//
// The reference for compiled conversions: encoding and decoding by the definition of the formats,
// in f64 arithmetic, which is exact for all of them.

#ifndef UPDRAFT_UNITTESTS_TARGET_STORAGEFORMAT_H
#define UPDRAFT_UNITTESTS_TARGET_STORAGEFORMAT_H

#include <cstdint>
#include <string>
#include <vector>

namespace updraft::test {

/// An IEEE binary format of at most 64 bits.
struct StorageFormat {
  const char *name;
  int bits;      ///< of the encoding
  int precision; ///< significant bits, including the implied one
  int maximumExponent;

  int bytes() const { return bits / 8; }
  int minimumExponent() const { return 1 - maximumExponent; }
  /// The number of encodings of finite values that are not negative.
  uint64_t finiteCount() const;
  uint64_t infinity() const { return finiteCount(); }
  uint64_t signBit() const { return uint64_t(1) << (bits - 1); }
  uint64_t aNaN() const { return infinity() | (uint64_t(1) << (precision - 2)); }
  bool isNaN(uint64_t encoding) const { return (encoding & ~signBit()) > infinity(); }

  double decode(uint64_t encoding) const;
  /// `value` rounded to nearest even, once.
  uint64_t encode(double value) const;
};

extern const StorageFormat f32, f64, bf16, f16;
std::vector<const StorageFormat *> allFormats();

/// Encodings packed as in memory, and back.
std::vector<std::byte> pack(const StorageFormat &format, const std::vector<uint64_t> &encodings);
uint64_t readElement(const StorageFormat &format, const std::byte *base, size_t index);
void writeElement(const StorageFormat &format, std::byte *base, size_t index, uint64_t encoding);

/// Zeros, denormals, the largest values, infinities, NaNs, and ordinary numbers, of both signs.
std::vector<uint64_t> edgeEncodings(const StorageFormat &format);

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_STORAGEFORMAT_H
