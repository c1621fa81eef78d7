//===- ContextStepTests.cpp - The order of a worker's step ------------------------------------===//

#include "runtime/dist/ContextStep.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace updraft::dist;

namespace {

/// A step of three buckets that records its calls, and refuses on request.
class Recorded : public ContextStep {
public:
  using ContextStep::ContextStep;

  std::vector<std::string> told;
  std::string refused;

private:
  void tell(std::string what) {
    if (what == refused)
      throw std::runtime_error(what);
    told.push_back(std::move(what));
  }
  void takeHypers() override { tell("hypers"); }
  size_t bucketCount() const override { return 3; }
  void prepare(size_t bucket) override { tell("prepare " + std::to_string(bucket)); }
  void apply(size_t bucket) override { tell("apply " + std::to_string(bucket)); }
  void abandon(size_t bucket) override { tell("abandon " + std::to_string(bucket)); }
};

using Told = std::vector<std::string>;

class ContextStepTest : public testing::Test {
protected:
  /// Steps the context with gradients of two parameters, and then checks that no lock is held.
  int64_t run(int64_t before, const std::string &refused, const std::vector<size_t> &places) {
    Recorded step(progress, 1, context, before);
    step.refused = refused;
    std::optional<int64_t> result;
    try {
      result = step.run(locks, places);
    } catch (const std::runtime_error &error) {
      EXPECT_EQ(error.what(), refused);
    }
    told = step.told;
    EXPECT_TRUE(progress.lock.lock({}));
    progress.lock.unlock();
    return result.value_or(refusal);
  }
  int64_t run(int64_t before, const std::string &refused = "") {
    return run(before, refused, {0, 1});
  }

  static constexpr int64_t refusal = -100;
  std::array<char, 2> memory{};
  std::shared_ptr<int> context = std::make_shared<int>();
  StepProgress progress;
  StorageLocks locks{{{&memory[0], 1}, {&memory[1], 1}}};
  Told told;
};

} // namespace

TEST_F(ContextStepTest, AppliesWhenAllAreReady) {
  EXPECT_EQ(run(0), 2);
  EXPECT_EQ(told, (Told{"hypers", "prepare 0", "prepare 1", "prepare 2", "apply 0", "apply 1",
                        "apply 2"}));
  EXPECT_EQ(progress.applied.count(1, context), 1);
}

TEST_F(ContextStepTest, AppliesOnceForEachTimeItIsAsked) {
  EXPECT_EQ(run(0), 2);
  EXPECT_EQ(run(0), ContextStep::alreadyApplied);
  EXPECT_EQ(told, Told{});
  EXPECT_EQ(run(1), 2);
  EXPECT_EQ(run(1), ContextStep::alreadyApplied);
}

TEST_F(ContextStepTest, AbandonsPreparedBucketsWhenAnotherRefuses) {
  EXPECT_EQ(run(0, "prepare 2"), refusal);
  EXPECT_EQ(told, (Told{"hypers", "prepare 0", "prepare 1", "abandon 0", "abandon 1"}));
  EXPECT_EQ(progress.applied.count(1, context), 0);
  EXPECT_EQ(run(0), 2);
}

TEST_F(ContextStepTest, PreparesNothingWithHyperparametersThatAreRefused) {
  EXPECT_EQ(run(0, "hypers"), refusal);
  EXPECT_EQ(told, Told{});
}

TEST_F(ContextStepTest, TakesHyperparametersWithoutGradients) {
  EXPECT_EQ(run(0, "", {}), 0);
  EXPECT_EQ(told, Told{"hypers"});
  EXPECT_EQ(progress.applied.size(), 0u);
}
