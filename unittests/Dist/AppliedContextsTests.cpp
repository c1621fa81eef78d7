//===- AppliedContextsTests.cpp - The contexts that an optimizer has applied ------------------===//

#include "runtime/dist/AppliedContexts.h"

#include <gtest/gtest.h>

#include <vector>

using updraft::dist::AppliedContexts;
using Context = std::shared_ptr<const void>;

static Context newContext() { return std::make_shared<int>(0); }

TEST(AppliedContexts, RemembersHowOften) {
  AppliedContexts applied;
  Context first = newContext(), second = newContext();
  EXPECT_EQ(applied.count(1, first), 0);
  applied.set(1, first, 1);
  applied.set(2, second, 3);
  EXPECT_EQ(applied.count(1, first), 1);
  EXPECT_EQ(applied.count(2, second), 3);
  applied.set(1, first, 2);
  EXPECT_EQ(applied.count(1, first), 2);
}

TEST(AppliedContexts, TellsAContextFromAnEarlierOneOfItsNumber) {
  AppliedContexts applied;
  Context earlier = newContext();
  applied.set(1, earlier, 1);
  earlier = nullptr;
  Context later = newContext();
  EXPECT_EQ(applied.count(1, later), 0);
  applied.set(1, later, 1);
  EXPECT_EQ(applied.count(1, later), 1);
}

TEST(AppliedContexts, ForgetsClosedContexts) {
  AppliedContexts applied;
  std::vector<Context> open;
  for (int64_t number = 0; number < 10; ++number) {
    open.push_back(newContext());
    applied.set(number, open.back(), 1);
  }
  for (int64_t number = 10; number < 100'000; ++number) {
    Context context = newContext();
    applied.set(number, context, 1);
    EXPECT_LE(applied.size(), 30U);
  }
  for (int64_t number = 0; number < 10; ++number)
    EXPECT_EQ(applied.count(number, open[static_cast<size_t>(number)]), 1);
}
