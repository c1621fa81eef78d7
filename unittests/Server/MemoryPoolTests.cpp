//===- MemoryPoolTests.cpp - Memory that is used again ----------------------------------------===//

#include "Tensors.h"
#include "runtime/server/Budget.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

using namespace updraft::server;

namespace {
class MemoryPoolTest : public testing::Test {
protected:
  Budget worker{1000};
  Budget client{500, "client `a`", &worker};

  char *allocateAndFree(Budget &budget, size_t bytes) {
    return budget.allocate(bytes, "a tensor").data();
  }
};
} // namespace

TEST_F(MemoryPoolTest, MemoryOfTheSameSizeIsUsedAgain) {
  char *const first = allocateAndFree(client, 400);
  EXPECT_EQ(worker.kept(), 400u);
  EXPECT_EQ(worker.used(), 0u);
  const Budget::Memory other = client.allocate(300, "a tensor");
  EXPECT_NE(other.data(), first);
  const Budget::Memory same = worker.allocate(400, "a tensor"); // the pool belongs to all
  EXPECT_EQ(same.data(), first);
  EXPECT_EQ(worker.kept(), 0u);
  EXPECT_EQ(worker.used(), 700u);
}

TEST_F(MemoryPoolTest, KeptMemoryMakesRoom) {
  allocateAndFree(worker, 300);
  allocateAndFree(worker, 400);
  EXPECT_EQ(worker.kept(), 700u);
  const Budget::Reservation some = client.reserve(200, "rows");
  EXPECT_EQ(worker.kept(), 700u);
  const Budget::Reservation more = client.reserve(200, "rows");
  EXPECT_EQ(worker.kept(), 400u); // the oldest has gone
  const Budget::Memory all = worker.allocate(600, "a tensor");
  EXPECT_EQ(worker.kept(), 0u);
  EXPECT_EQ(worker.used(), 1000u);
}

TEST_F(MemoryPoolTest, ARefusalLeavesItAsItIs) {
  allocateAndFree(worker, 600);
  EXPECT_NE(refusalOf(Reason::ResourceExhausted, [&] { client.allocate(600, "a tensor"); }), "");
  EXPECT_EQ(worker.kept(), 600u);
  EXPECT_EQ(worker.used(), 0u);
}

TEST_F(MemoryPoolTest, UnusedMemoryIsFreed) {
  allocateAndFree(worker, 300);
  worker.freeUnused(std::chrono::hours(1));
  EXPECT_EQ(worker.kept(), 300u);
  worker.freeUnused(std::chrono::seconds(0));
  EXPECT_EQ(worker.kept(), 0u);
}

TEST_F(MemoryPoolTest, TheNumberOfBlocksIsLimited) {
  Budget large(size_t(1) << 30);
  std::vector<Budget::Memory> blocks;
  for (int i = 0; i < 2000; ++i)
    blocks.push_back(large.allocate(64, "a tensor"));
  blocks.clear();
  EXPECT_EQ(large.kept(), 1024u * 64);
}

TEST_F(MemoryPoolTest, MemoryMayOutliveItsBudget) {
  std::optional<Budget> budget(1000);
  const Budget::Memory memory = budget->allocate(100, "a tensor");
  budget.reset();
  memory.data()[99] = 1;
}
