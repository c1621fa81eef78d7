//===- PlanTests.cpp - Compiled plans and interpreted rules, without the runtime --------------===//
// Rules in the dialect with values of all extents, to compare the scheduler and the lowering with
// the interpreter. The seeds are fixed, so the number of a failure reproduces it.

#include "RandomExtents.h"

using namespace updraft::differential;

namespace {

constexpr uint64_t rulesPerTest = 20;

class Plans : public testing::TestWithParam<uint64_t> {};

TEST_P(Plans, OfRandomExtentsStepAsInterpreted) {
  for (uint64_t i = 0; i < rulesPerTest; ++i) {
    const uint64_t seed = GetParam() * rulesPerTest + i;
    ASSERT_TRUE(planEqualsInterpreted(randomExtents(seed))) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Plans, testing::Range<uint64_t>(0, 16));

} // namespace
