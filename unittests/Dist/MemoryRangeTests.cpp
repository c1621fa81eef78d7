//===- MemoryRangeTests.cpp - The memory that a parameter covers ------------------------------===//

#include "runtime/dist/MemoryRange.h"

#include <gtest/gtest.h>

#include <array>

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
