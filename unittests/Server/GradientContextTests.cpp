//===- GradientContextTests.cpp - Sums of pushed gradients ------------------------------------===//

#include "Tensors.h"
#include "runtime/server/GradientContext.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace updraft::server;

namespace {

class GradientContextTest : public testing::Test {
protected:
  Gradient whole(size_t param, const std::vector<float> &values) {
    return {param, std::nullopt, vectorOf(values, budget)};
  }
  Gradient rows(size_t param, const std::vector<int64_t> &indices,
                const std::vector<float> &values) {
    const auto count = static_cast<int64_t>(indices.size());
    const auto perRow = count == 0 ? 1 : static_cast<int64_t>(values.size()) / count;
    return {param, indices, tensorOf(values, {count, perRow}, budget)};
  }
  template <typename... Gradients> void add(const RequestKey &request, Gradients... gradients) {
    std::vector<Gradient> list;
    (list.push_back(std::move(gradients)), ...);
    context.add(request, std::move(list));
  }
  const std::map<size_t, SummedGradient> &sums() {
    sum = context.sum(budget);
    return sum->byParam;
  }
  std::vector<float> sumOf(size_t param) {
    const upd_tensor &view = sums().at(param).view;
    int64_t count = 1;
    for (int32_t i = 0; i < view.rank; ++i)
      count *= view.shape[i];
    return valuesOf(view.data, static_cast<size_t>(count));
  }

  Budget budget{1 << 20};
  GradientContext context;
  std::shared_ptr<const SummedGradients> sum; ///< the last one
};

} // namespace

TEST_F(GradientContextTest, OneGradientIsUsedWhereItIs) {
  Gradient gradient = whole(3, {1, 2});
  const void *data = gradient.values.data();
  add({"a", 1}, std::move(gradient));
  EXPECT_EQ(sums().at(3).view.data, data);
  EXPECT_EQ(sums().size(), 1u);
}

TEST_F(GradientContextTest, TheOrderOfArrivalChangesNoBit) {
  // In f32, (2^24 + 1) + 1 is 2^24, and (1 + 1) + 2^24 is 2^24 + 2.
  const float large = 0x1p24F;
  add({"b", 1}, whole(0, {1}));
  add({"a", 7}, whole(0, {1}));
  add({"a", 2}, whole(0, {large}));
  EXPECT_EQ(sumOf(0), std::vector<float>{large});
  GradientContext other;
  const auto add = [&](const RequestKey &request, float value) {
    std::vector<Gradient> one;
    one.push_back(whole(0, {value}));
    other.add(request, std::move(one));
  };
  add({"a", 2}, 1);
  add({"b", 1}, large);
  add({"a", 7}, 1);
  EXPECT_EQ(valuesOf(other.sum(budget)->byParam.at(0).view.data, 1), std::vector<float>{large + 2});
}

TEST_F(GradientContextTest, ARepeatedRequestIsAddedOnce) {
  add({"a", 1}, whole(0, {1}));
  add({"a", 1}, whole(0, {1}));
  add({"a", 2}, whole(0, {1}));
  EXPECT_EQ(sumOf(0), std::vector<float>{2});
}

TEST_F(GradientContextTest, RowsAreSortedAndAdded) {
  add({"a", 1}, rows(0, {4, 1, 4}, {1, 2, 3, 4, 5, 6}));
  add({"a", 2}, rows(0, {0, 1}, {10, 20, 30, 40}));
  const SummedGradient &summed = sums().at(0);
  EXPECT_FALSE(summed.isWhole);
  EXPECT_EQ(summed.rows, (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(sumOf(0), (std::vector<float>{10, 20, 33, 44, 6, 8}));
}

TEST_F(GradientContextTest, RowsAreAddedToAWholeGradient) {
  Gradient gradient{0, std::nullopt, tensorOf({1, 2, 3, 4}, {2, 2}, budget)};
  add({"a", 1}, rows(0, {1, 1}, {10, 20, 30, 40}));
  add({"a", 2}, std::move(gradient));
  EXPECT_TRUE(sums().at(0).isWhole);
  EXPECT_EQ(sumOf(0), (std::vector<float>{1, 2, 43, 64}));
}

TEST_F(GradientContextTest, SumsOf16BitsAreRoundedOnce) {
  // In bf16, whose numbers near 256 are 2 apart, each step of 256 + 0.75 + 0.75 would round to 256.
  const auto gradientOf = [&](uint16_t bits) {
    Tensor values(UPD_BF16, {1}, budget, "a test's tensor");
    std::memcpy(values.data(), &bits, 2);
    return Gradient{0, std::nullopt, std::move(values)};
  };
  add({"a", 1}, gradientOf(0x4380)); // 256
  add({"a", 2}, gradientOf(0x3f40)); // 0.75
  add({"a", 3}, gradientOf(0x3f40));
  uint16_t bits = 0;
  std::memcpy(&bits, sums().at(0).view.data, 2);
  EXPECT_EQ(bits, 0x4381); // 258
}

TEST_F(GradientContextTest, NegativeZerosStay) {
  add({"a", 1}, rows(0, {1, 1, 0}, {-0.0F, -0.0F, -0.0F}));
  for (float value : sumOf(0))
    EXPECT_TRUE(std::signbit(value));
}

TEST_F(GradientContextTest, NoRowsAreAGradient) {
  add({"a", 1}, rows(0, {}, {}));
  EXPECT_FALSE(sums().at(0).isWhole);
  EXPECT_TRUE(sums().at(0).rows.empty());
}

TEST_F(GradientContextTest, ASteppedContextTakesNoMore) {
  add({"a", 1}, whole(0, {1}));
  sums();
  context.close();
  sum = nullptr;
  add({"a", 1}, whole(0, {1})); // repeated
  EXPECT_EQ(refusalOf(Reason::FailedPrecondition, [&] { add({"a", 2}, whole(0, {1})); }),
            "the context has been stepped, and takes no more gradients; open another");
  EXPECT_EQ(sumOf(0), std::vector<float>{1});
}

TEST_F(GradientContextTest, TakesMoreAfterAStepThatWasRefused) {
  add({"a", 1}, whole(0, {1}));
  sums();
  EXPECT_EQ(refusalOf(Reason::Unavailable, [&] { add({"a", 2}, whole(0, {2})); }),
            "a step of the context is under way; try again");
  sum = nullptr;
  add({"a", 2}, whole(0, {2}));
  EXPECT_EQ(sumOf(0), std::vector<float>{3});
}

TEST_F(GradientContextTest, ListsOfRowsCount) {
  add({"a", 1}, rows(0, {1, 4}, {1, 2}));
  Budget small(15);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { context.sum(small); }),
            "the list of rows of a sum needs 16 bytes; 15 of the worker's 15 bytes are free");
}

TEST_F(GradientContextTest, ASumThatDoesNotFitCanBeTakenLater) {
  add({"a", 1}, whole(0, {1}));
  add({"a", 2}, whole(0, {2}));
  Budget none(0);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { context.sum(none); }),
            "a sum of gradients needs 4 bytes; 0 of the worker's 0 bytes are free");
  EXPECT_EQ(sumOf(0), std::vector<float>{3});
}
