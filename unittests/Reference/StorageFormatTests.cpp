//===- StorageFormatTests.cpp - Elements in memory against LLVM's APFloat ---------------------===//

#include "updraft/Reference/StorageFormat.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace updraft::reference;

namespace {

struct NarrowCase {
  const char *name;
  StorageFormat format;
  const llvm::fltSemantics &semantics;
};

class NarrowFormats : public testing::TestWithParam<NarrowCase> {
protected:
  uint16_t encode(double value) {
    uint16_t bits = 0;
    storeElement(GetParam().format, &bits, 0, value);
    return bits;
  }
  double decode(uint16_t bits) { return loadElement(GetParam().format, &bits, 0); }

  /// APFloat's conversion of a double, in one rounding.
  uint16_t expected(double value) {
    llvm::APFloat number(value);
    bool losesInfo;
    number.convert(GetParam().semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.bitcastToAPInt().getZExtValue();
  }

  void check(double value) {
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(decode(encode(value))));
    else
      EXPECT_EQ(encode(value), expected(value)) << std::hexfloat << value;
  }
};

TEST_P(NarrowFormats, LoadsEveryEncoding) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    llvm::APFloat number(GetParam().semantics, llvm::APInt(16, bits));
    const double value = decode(bits);
    if (number.isNaN()) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      continue;
    }
    bool losesInfo;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    EXPECT_EQ(value, number.convertToDouble()) << bits;
    EXPECT_EQ(std::signbit(value), number.isNegative()) << bits;
    EXPECT_EQ(encode(value), bits);
  }
}

TEST_P(NarrowFormats, RoundsHalfwayBetweenNeighboursToEven) {
  for (unsigned bits = 0; bits < 0x7fff; ++bits) {
    const double low = decode(bits), high = decode(bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high))
      continue;
    const double middle = (low + high) / 2; // exact in double
    EXPECT_EQ(encode(middle), bits + (bits & 1)) << bits;
    EXPECT_EQ(encode(std::nextafter(middle, 0.0)), bits) << bits;
    EXPECT_EQ(encode(std::nextafter(middle, high)), bits + 1) << bits;
    EXPECT_EQ(encode(-middle), 0x8000 | (bits + (bits & 1))) << bits;
  }
}

TEST_P(NarrowFormats, RoundsDoublesOnce) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    check(value);
    // Most doubles are far outside of a narrow format's range: tests the same fraction with an
    // exponent closer to one.
    if (std::isfinite(value) && value != 0)
      check(std::scalbn(value, int(random() % 300) - 150 - std::ilogb(value)));
  }
}

TEST_P(NarrowFormats, KeepsSpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (double value : {0.0, infinity, std::numeric_limits<double>::max(),
                       std::numeric_limits<double>::denorm_min(), double(NAN)}) {
    check(value);
    check(-value);
  }
  EXPECT_TRUE(std::signbit(decode(encode(-0.0))));
  EXPECT_EQ(decode(encode(infinity)), infinity);
}

INSTANTIATE_TEST_SUITE_P(
    All, NarrowFormats,
    testing::Values(NarrowCase{"bf16", StorageFormat::BF16, llvm::APFloat::BFloat()},
                    NarrowCase{"f16", StorageFormat::F16, llvm::APFloat::IEEEhalf()}),
    [](const testing::TestParamInfo<NarrowCase> &info) { return info.param.name; });

TEST(StorageFormat, KnowsValuesByHand) {
  uint16_t bits;
  storeElement(StorageFormat::BF16, &bits, 0, 1.0);
  EXPECT_EQ(bits, 0x3f80);
  storeElement(StorageFormat::BF16, &bits, 0, -3.0);
  EXPECT_EQ(bits, 0xc040);
  storeElement(StorageFormat::F16, &bits, 0, 1.0);
  EXPECT_EQ(bits, 0x3c00);
  storeElement(StorageFormat::F16, &bits, 0, 65504.0);
  EXPECT_EQ(bits, 0x7bff);
  storeElement(StorageFormat::F16, &bits, 0, 65519.99);
  EXPECT_EQ(bits, 0x7bff);
  storeElement(StorageFormat::F16, &bits, 0, 65520.0); // halfway to 2^16, which is infinity
  EXPECT_EQ(bits, 0x7c00);
  storeElement(StorageFormat::F16, &bits, 0, 0x1p-24);
  EXPECT_EQ(bits, 0x0001);
  storeElement(StorageFormat::F16, &bits, 0, 0x1p-25); // halfway to zero
  EXPECT_EQ(bits, 0x0000);
  storeElement(StorageFormat::F16, &bits, 0, 0x1.8p-25);
  EXPECT_EQ(bits, 0x0001);
}

TEST(StorageFormat, RoundsOnceWhereTwoRoundingsDiffer) {
  // Just above a halfway point of bf16. Converting through float would give the halfway point.
  uint16_t bits;
  storeElement(StorageFormat::BF16, &bits, 0, 1.0 + 0x1p-8 + 0x1p-40);
  EXPECT_EQ(bits, 0x3f81);
}

TEST(StorageFormat, ReadsAndWritesUnalignedElements) {
  alignas(8) char bytes[24];
  for (StorageFormat format :
       {StorageFormat::F32, StorageFormat::F64, StorageFormat::BF16, StorageFormat::F16}) {
    std::memset(bytes, 0x55, sizeof(bytes));
    storeElement(format, bytes + 1, 1, -2.5);
    EXPECT_EQ(loadElement(format, bytes + 1, 1), -2.5);
    const unsigned size = elementSize(format);
    EXPECT_EQ(bytes[size], 0x55);
    EXPECT_EQ(bytes[1 + 2 * size], 0x55);
  }
}

TEST(StorageFormat, RoundsToSingle) {
  float element;
  storeElement(StorageFormat::F32, &element, 0, 1.0 + 0x1p-24);
  EXPECT_EQ(element, 1.0f);
  storeElement(StorageFormat::F32, &element, 0, 1.0 + 0x1.8p-23);
  EXPECT_EQ(element, 1.0f + 0x1p-22f);
}

} // namespace
