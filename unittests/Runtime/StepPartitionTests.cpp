//===- StepPartitionTests.cpp - Every element is processed once -------------------------------===//

#include "runtime/cpu/StepPartition.h"
#include "updraft-c/kernel.h"

#include <gtest/gtest.h>
#include <random>

using namespace updraft::runtime;

static StepPartition partitionOf(const std::vector<int64_t> &sizes, size_t parts) {
  int64_t total = 0;
  for (int64_t size : sizes)
    total += size + StepPartition::tensorCost;
  StepPartition partition;
  partition.assign(sizes.size(), [&](size_t i) { return sizes[i]; }, total, parts);
  return partition;
}

TEST(StepPartition, CoversEveryElementOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> sizes(random() % 40);
    for (int64_t &size : sizes)
      size = static_cast<int64_t>(random() % 3 == 0 ? random() % 200000 : random() % 100);
    const size_t parts = 1 + random() % 9;
    const StepPartition partition = partitionOf(sizes, parts);
    ASSERT_EQ(partition.parts(), parts);
    EXPECT_EQ(partition[0], (StepBoundary{0, 0}));
    EXPECT_EQ(partition[parts], (StepBoundary{sizes.size(), 0}));
    for (size_t i = 0; i < parts; ++i) {
      const StepBoundary a = partition[i], b = partition[i + 1];
      EXPECT_TRUE(a.tensor < b.tensor || (a.tensor == b.tensor && a.element <= b.element));
      EXPECT_EQ(a.element % UPD_LEAF_ELEMENTS, 0);
      if (a.tensor < sizes.size())
        EXPECT_TRUE(a.element == 0 || a.element < sizes[a.tensor]);
      else
        EXPECT_EQ(a.element, 0);
    }
  }
}

TEST(StepPartition, PartsAreEqual) {
  const int64_t leaf = UPD_LEAF_ELEMENTS;
  const StepPartition flat = partitionOf({100 * leaf}, 4);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_EQ(flat[i], (StepBoundary{0, static_cast<int64_t>(i) * 25 * leaf}));
  const StepPartition small = partitionOf(std::vector<int64_t>(1000, 64), 2);
  EXPECT_EQ(small[1], (StepBoundary{500, 0}));
}
