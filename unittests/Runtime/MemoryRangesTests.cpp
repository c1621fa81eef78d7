//===- MemoryRangesTests.cpp - Memory ranges and their owners ---------------------------------===//

#include "runtime/base/MemoryRanges.h"

#include <gtest/gtest.h>
#include <random>

using namespace updraft::runtime;

static MemoryRange range(uintptr_t begin, uintptr_t end, uint32_t owner = 0) {
  return {reinterpret_cast<const void *>(begin), end - begin, owner, 0};
}

TEST(MemoryRanges, FindsTheOverlappingPair) {
  MemoryRanges ranges;
  const MemoryRange *first = nullptr, *second = nullptr;
  EXPECT_TRUE(
      ranges.assign({range(30, 40), range(10, 20), range(20, 30), range(15, 15)}, first, second));
  EXPECT_FALSE(ranges.assign({range(30, 40, 7), range(10, 20), range(39, 41, 8)}, first, second));
  EXPECT_EQ(first->owner, 7u);
  EXPECT_EQ(second->owner, 8u);
  EXPECT_FALSE(ranges.assign({range(10, 20, 2), range(0, 5, 3), range(10, 20, 1), range(10, 20, 0)},
                             first, second));
  EXPECT_EQ(first->owner, 0u);
  EXPECT_EQ(second->owner, 1u);
}

TEST(MemoryRanges, FindsNothingInEmptyRanges) {
  MemoryRanges ranges;
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(ranges.find(range(0, 40)), nullptr);
  const MemoryRange *first = nullptr, *second = nullptr;
  EXPECT_TRUE(ranges.assign({range(20, 30), range(5, 5)}, first, second));
  EXPECT_FALSE(ranges.empty());
  EXPECT_EQ(ranges.find(range(25, 25)), nullptr);
  EXPECT_EQ(ranges.find(range(0, 20)), nullptr);
  EXPECT_NE(ranges.find(range(29, 40)), nullptr);
}

TEST(MemoryRanges, AgreesWithSearchingAll) {
  std::mt19937 random(1);
  auto below = [&](size_t limit) { return random() % limit; };
  for (int round = 0; round < 20; ++round) {
    MemoryRanges ranges;
    std::vector<MemoryRange> all;
    for (int i = 0; i < 400; ++i) {
      const uintptr_t begin = 1000 + below(20000);
      const MemoryRange candidate = range(begin, begin + below(40), static_cast<uint32_t>(i));
      bool overlaps = false;
      for (const MemoryRange &other : all)
        overlaps |= candidate.begin < other.end && other.begin < candidate.end;
      overlaps &= !candidate.empty();
      EXPECT_EQ(ranges.find(candidate) != nullptr, overlaps);
      if (overlaps || candidate.empty())
        continue;
      ranges.reserve(1);
      ranges.insert(candidate);
      all.push_back(candidate);
    }
    const MemoryRange last = all.back();
    ranges.erase(last.owner, 0);
    EXPECT_EQ(ranges.find(last), nullptr);
  }
}
