//===- DTypeTests.cpp - Storage types ---------------------------------------------------------===//

#include "runtime/base/DType.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace updraft::runtime;

static unsigned bits16(upd_dtype dtype, double value) {
  uint16_t bits = 0;
  storeRounded(dtype, value, &bits);
  return bits;
}

TEST(DType, NamesAndSizes) {
  for (upd_dtype dtype : {UPD_F32, UPD_F64, UPD_BF16, UPD_F16})
    EXPECT_EQ(parseDType(nameOf(dtype)), dtype);
  EXPECT_EQ(parseDType("f8"), std::nullopt);
  EXPECT_EQ(sizeOf(UPD_F32), 4u);
  EXPECT_EQ(sizeOf(UPD_F64), 8u);
  EXPECT_EQ(sizeOf(UPD_BF16), 2u);
  EXPECT_EQ(sizeOf(UPD_F16), 2u);
  EXPECT_FALSE(isKnownDType(static_cast<upd_dtype>(7)));
  EXPECT_FALSE(isKnownDType(static_cast<upd_dtype>(-1)));
}

TEST(DType, RoundsToNearestEven) {
  EXPECT_EQ(bits16(UPD_BF16, 1), 0x3f80u);
  EXPECT_EQ(bits16(UPD_BF16, -0.0), 0x8000u);
  EXPECT_EQ(bits16(UPD_BF16, 1 + 1.0 / 256), 0x3f80u);         // half way: to even
  EXPECT_EQ(bits16(UPD_BF16, 1 + 3.0 / 256), 0x3f82u);         // half way: to even
  EXPECT_EQ(bits16(UPD_BF16, 1 + 1.0 / 256 + 1e-12), 0x3f81u); // would be even through float
  EXPECT_EQ(bits16(UPD_BF16, 3.4e38), 0x7f80u);                // rounds up to infinity
  EXPECT_EQ(bits16(UPD_BF16, std::ldexp(1, -133)), 0x0001u);
  EXPECT_EQ(bits16(UPD_BF16, std::ldexp(1, -134)), 0x0000u);
  EXPECT_EQ(bits16(UPD_F16, 65504), 0x7bffu);
  EXPECT_EQ(bits16(UPD_F16, 65520), 0x7c00u);
  EXPECT_EQ(bits16(UPD_F16, 65519), 0x7bffu);
  EXPECT_EQ(bits16(UPD_F16, std::ldexp(1, -24)), 0x0001u);
  EXPECT_EQ(bits16(UPD_F16, -std::numeric_limits<double>::infinity()), 0xfc00u);
  EXPECT_EQ(bits16(UPD_F16, std::nan("")) & 0x7e00u, 0x7e00u);
  float single;
  storeRounded(UPD_F32, 0.1, &single);
  EXPECT_EQ(single, 0.1f);
}

TEST(DType, LoadsStoredValues) {
  for (upd_dtype dtype : {UPD_BF16, UPD_F16})
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const auto encoding = static_cast<uint16_t>(bits);
      const double value = loadExact(dtype, &encoding);
      const unsigned infinity = dtype == UPD_BF16 ? 0x7f80 : 0x7c00;
      EXPECT_EQ(std::isnan(value), (bits & 0x7fff) > infinity);
      if (!std::isnan(value))
        EXPECT_EQ(bits16(dtype, value), bits);
    }
  const uint16_t one = 0x3f80;
  EXPECT_EQ(loadExact(UPD_BF16, &one), 1);
  const float tenth = 0.1f;
  EXPECT_EQ(loadExact(UPD_F32, &tenth), static_cast<double>(tenth));
}

#if defined(__FLT16_MANT_DIG__)
TEST(DType, HalfAgreesWithTheCompiler) {
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const auto encoding = static_cast<uint16_t>(bits);
    _Float16 half;
    std::memcpy(&half, &encoding, sizeof(half));
    EXPECT_EQ(bits16(UPD_F16, static_cast<double>(half)), encoding);
    const double above = static_cast<double>(half) * (1 + 1.0 / 3000);
    const auto expected = static_cast<_Float16>(above);
    uint16_t expectedBits;
    std::memcpy(&expectedBits, &expected, sizeof(expectedBits));
    EXPECT_EQ(bits16(UPD_F16, above), expectedBits);
  }
}
#endif
