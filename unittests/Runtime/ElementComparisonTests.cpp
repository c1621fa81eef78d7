//===- ElementComparisonTests.cpp - Whether elements have the same bits -----------------------===//

#include "runtime/base/ElementComparison.h"

#include <gtest/gtest.h>

using namespace updraft::runtime;

namespace {

template <typename Bits> bool same(SafetensorsType type, Bits a, Bits b) {
  const Bits left[] = {1, a}, right[] = {1, b};
  const size_t place = firstDifference(type, left, right, 2);
  EXPECT_TRUE(place == 1 || place == 2);
  return place == 2;
}

TEST(ElementComparison, ComparesBits) {
  EXPECT_TRUE(same<uint32_t>(SafetensorsType::F32, 0x3f800000, 0x3f800000));
  EXPECT_FALSE(same<uint32_t>(SafetensorsType::F32, 0x3f800000, 0x3f800001));
  EXPECT_FALSE(same<uint32_t>(SafetensorsType::F32, 0, 0x80000000)) << "zeros have a sign";
  EXPECT_FALSE(same<uint32_t>(SafetensorsType::F32, 0x7f800000, 0xff800000)) << "infinities";
  EXPECT_FALSE(same<uint8_t>(SafetensorsType::U8, 0xff, 0xfe));
  EXPECT_FALSE(same<uint8_t>(SafetensorsType::I8, 0xff, 0x7f));
  EXPECT_FALSE(same<uint64_t>(SafetensorsType::I64, ~uint64_t(0), ~uint64_t(0) >> 1));
  EXPECT_EQ(firstDifference(SafetensorsType::F32, nullptr, nullptr, 0), 0u);
}

TEST(ElementComparison, TakesAnyNaNsAsTheSame) {
  EXPECT_TRUE(same<uint64_t>(SafetensorsType::F64, 0x7ff8000000000000, 0xfff8000000000001));
  EXPECT_TRUE(same<uint32_t>(SafetensorsType::F32, 0x7fc00000, 0xff800001));
  EXPECT_TRUE(same<uint16_t>(SafetensorsType::BF16, 0x7fc0, 0xffc0));
  EXPECT_TRUE(same<uint16_t>(SafetensorsType::F16, 0x7e00, 0xfe00));
  EXPECT_FALSE(same<uint64_t>(SafetensorsType::F64, 0x7ff8000000000000, 0x7ff0000000000000));
  EXPECT_FALSE(same<uint32_t>(SafetensorsType::F32, 0x7fc00000, 0x7f800000));
  EXPECT_FALSE(same<uint16_t>(SafetensorsType::BF16, 0x7fc0, 0x7f80));
  EXPECT_FALSE(same<uint16_t>(SafetensorsType::F16, 0x7e00, 0x7c00));
  EXPECT_FALSE(same<uint16_t>(SafetensorsType::F16, 0x7e00, 0)) << "a number";
}

} // namespace
