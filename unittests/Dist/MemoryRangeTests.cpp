//===- MemoryRangeTests.cpp - The memory that a parameter covers ------------------------------===//

#include "runtime/dist/MemoryRange.h"

#include <gtest/gtest.h>

#include <array>

using updraft::dist::ApartRanges;
using updraft::dist::findOverlap;
using updraft::dist::MemoryRange;
using Places = std::pair<size_t, size_t>;

TEST(MemoryRange, FindsTwoThatOverlap) {
  std::array<char, 40> memory;
  auto range = [&](size_t begin, size_t end) { return MemoryRange(&memory[begin], end - begin); };
  EXPECT_EQ(findOverlap({}), std::nullopt);
  EXPECT_EQ(findOverlap({range(20, 30), range(0, 10), range(10, 20)}), std::nullopt);
  // Nothing is in a range of no length.
  EXPECT_EQ(findOverlap({range(0, 10), range(5, 5), range(5, 5)}), std::nullopt);
  EXPECT_EQ(findOverlap({range(0, 10), range(20, 30), range(0, 10)}), Places(0, 2));
  EXPECT_EQ(findOverlap({range(20, 30), range(0, 21)}), Places(0, 1));
  EXPECT_EQ(findOverlap({range(2, 3), range(30, 40), range(0, 20)}), Places(0, 2));
}

TEST(MemoryRange, LooksUpWhatOverlaps) {
  std::array<char, 40> memory;
  auto range = [&](size_t begin, size_t end) { return MemoryRange(&memory[begin], end - begin); };
  EXPECT_TRUE(ApartRanges().empty());
  EXPECT_EQ(ApartRanges().find(range(0, 40)), std::nullopt);
  const ApartRanges ranges({range(20, 30), range(0, 10), range(5, 5), range(10, 15)});
  EXPECT_FALSE(ranges.empty());
  EXPECT_EQ(ranges.find(range(0, 1)), 1u);
  EXPECT_EQ(ranges.find(range(9, 10)), 1u);
  EXPECT_EQ(ranges.find(range(10, 11)), 3u);
  EXPECT_EQ(ranges.find(range(15, 20)), std::nullopt);
  EXPECT_EQ(ranges.find(range(15, 21)), 0u);
  EXPECT_EQ(ranges.find(range(29, 40)), 0u);
  EXPECT_EQ(ranges.find(range(30, 40)), std::nullopt);
  EXPECT_EQ(ranges.find(range(25, 25)), std::nullopt);
}
