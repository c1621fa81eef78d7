//===- ReductionTests.cpp - The reduction trees, by hand and by property ----------------------===//

#include "updraft/Reference/Reduction.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <vector>

using namespace updraft;
using namespace updraft::reference;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();
// Half a unit in the last place of 1: 1 + tiny is 1, but (tiny + tiny) + 1 is more.
constexpr double tiny = 0x1p-53;

double flat(ReductionKind kind, const std::vector<double> &values) {
  return reduceFlat(kind, values.size(), [&](int64_t i) { return values[i]; });
}
double flatSum(const std::vector<double> &values) { return flat(ReductionKind::sum, values); }

std::vector<double> normalValues(size_t count) {
  std::mt19937_64 random(count);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double &value : values)
    value = normal(random);
  return values;
}

TEST(Reduction, OfNothingIsTheIdentity) {
  EXPECT_EQ(flatSum({}), 0);
  EXPECT_FALSE(std::signbit(flatSum({})));
  EXPECT_EQ(flat(ReductionKind::max, {}), -inf);
  EXPECT_EQ(reducePairwise(ReductionKind::max, {}), -inf);
  const auto none = [](int64_t) { return 1.0; };
  EXPECT_EQ(reduceRow(ReductionKind::sum, 0, none), 0);
  EXPECT_EQ(reduceColumn(ReductionKind::max, 0, none), -inf);
  EXPECT_EQ(reduceBlocks(ReductionKind::sum, {3, 0, 5}, none), 0);
}

TEST(Reduction, PairsNeighboursAndPassesUpAnOddOne) {
  const auto sum = [](std::vector<double> values) {
    return reducePairwise(ReductionKind::sum, values);
  };
  EXPECT_EQ(sum({1, tiny, tiny}), 1);               // (1 + tiny) + tiny
  EXPECT_EQ(sum({tiny, tiny, 1}), 1 + 2 * tiny);    // (tiny + tiny) + 1
  EXPECT_EQ(sum({1, 0, tiny, tiny}), 1 + 2 * tiny); // (1 + 0) + (tiny + tiny)
  EXPECT_EQ(sum({1, tiny, tiny, 0, tiny}), 1);      // ((1 + tiny) + tiny) + tiny
  EXPECT_EQ(sum({1, 0, tiny, 0, tiny}), 1);         // the odd one joins at the very end
  EXPECT_EQ(sum({0, 0, 0, 1, tiny, tiny}), 1 + 2 * tiny);
}

TEST(Reduction, DealsElementsToLanesInOrder) {
  // Elements with distance 128 are added in one lane, in order; those with distance 64 when lanes
  // are halved.
  std::vector<double> values(300, 0.0);
  values[0] = 1;
  values[128] = values[256] = tiny;
  EXPECT_EQ(flatSum(values), 1); // (1 + tiny) + tiny
  values[0] = tiny;
  values[256] = 1;
  EXPECT_EQ(flatSum(values), 1 + 2 * tiny);
}

TEST(Reduction, HalvesLanesFromTheFarSide) {
  // Lane 0 adds lane 64, then 32, 16, …, and lane 1 last.
  const auto sumOf = [](int one, int first, int second) {
    std::vector<double> values(128, 0.0);
    values[one] = 1;
    values[first] = values[second] = tiny;
    return flatSum(values);
  };
  EXPECT_EQ(sumOf(0, 64, 1), 1);
  EXPECT_EQ(sumOf(0, 64, 32), 1);
  EXPECT_EQ(sumOf(0, 32, 96), 1 + 2 * tiny); // 32 takes 96 before 0 takes 32
  EXPECT_EQ(sumOf(0, 1, 3), 1 + 2 * tiny);   // 1 takes 3
  EXPECT_EQ(sumOf(0, 2, 1), 1);
}

TEST(Reduction, LeavesHave8192Elements) {
  std::vector<double> values(3 * 8192, 0.0);
  values[8191] = 1;
  values[8192] = values[8192 + 128] = tiny; // their sum, in the second leaf, is added to 1
  EXPECT_EQ(flatSum(values), 1 + 2 * tiny);
  values[8192 + 128] = 0;
  values[2 * 8192] = tiny; // a separate leaf, after the first two
  EXPECT_EQ(flatSum(values), 1);
}

TEST(Reduction, IsNearThePlainSum) {
  for (size_t count : {1, 127, 128, 129, 8191, 8192, 8193, 100003}) {
    const std::vector<double> values = normalValues(count);
    long double exact = 0, magnitude = 0;
    for (double value : values) {
      exact += value;
      magnitude += std::fabs(value);
    }
    // The number of roundings of a value: 64 in its lane, 7 halvings, then pairs.
    const double bound = (64 + 7 + 20) * tiny * double(magnitude);
    EXPECT_NEAR(flatSum(values), double(exact), bound) << count;
  }
}

TEST(Reduction, DependsOnTheOrderOfTheValues) {
  std::vector<double> values = normalValues(100003);
  const double before = flatSum(values);
  std::shuffle(values.begin(), values.end(), std::mt19937_64(1));
  EXPECT_NE(flatSum(values), before);
  EXPECT_NEAR(flatSum(values), before, 1e-9);
}

TEST(Reduction, MaximumIsThatOfAnyOrder) {
  std::vector<double> values = normalValues(8300);
  EXPECT_EQ(flat(ReductionKind::max, values), *std::max_element(values.begin(), values.end()));
  values[7] = inf;
  EXPECT_EQ(flat(ReductionKind::max, values), inf);
  for (int64_t place : {0, 1, 130, 8191, 8192, 8299}) {
    std::vector<double> withNaN = values;
    withNaN[place] = nan;
    EXPECT_TRUE(std::isnan(flat(ReductionKind::max, withNaN))) << place;
  }
  EXPECT_FALSE(std::signbit(flat(ReductionKind::max, {-0.0, 0.0})));
  EXPECT_FALSE(std::signbit(flat(ReductionKind::max, {0.0, -0.0})));
  EXPECT_EQ(flat(ReductionKind::max, {-2, -1, -3}), -1);
}

TEST(Reduction, BlocksHave64RowsOfABatchAndLanesAreColumns) {
  // Two batches of 65 rows: blocks of 64, 1, 64 and 1 rows.
  const Shape shape = {2, 65, 130};
  const auto sumOf = [&](std::initializer_list<std::array<int64_t, 3>> tinies) {
    std::vector<double> values(shape.count(), 0.0);
    values[0] = 1;
    for (auto [batch, row, column] : tinies)
      values[(batch * shape.rows + row) * shape.columns + column] = tiny;
    return reduceBlocks(ReductionKind::sum, shape, [&](int64_t i) { return values[i]; });
  };
  EXPECT_EQ(sumOf({{0, 1, 0}, {0, 2, 0}}), 1);              // lane 0, row by row
  EXPECT_EQ(sumOf({{0, 0, 128}, {0, 63, 0}}), 1);           // column 128 is lane 0 too
  EXPECT_EQ(sumOf({{0, 1, 1}, {0, 2, 1}}), 1 + 2 * tiny);   // lane 1
  EXPECT_EQ(sumOf({{0, 64, 0}, {0, 64, 1}}), 1 + 2 * tiny); // the second block
  EXPECT_EQ(sumOf({{0, 64, 0}, {1, 0, 0}}), 1);             // ((0, 1), (2, 3))
  EXPECT_EQ(sumOf({{1, 0, 0}, {1, 64, 0}}), 1 + 2 * tiny);
}

TEST(Reduction, RowsAreLanesAlone) {
  std::vector<double> row(9000, 0.0);
  row[0] = 1;
  row[128] = row[8192] = tiny; // not leaves: lane 0 adds them in order
  const auto at = [&](int64_t i) { return row[i]; };
  EXPECT_EQ(reduceRow(ReductionKind::sum, row.size(), at), 1);
  row[128] = 0;
  row[8193] = tiny;
  EXPECT_EQ(reduceRow(ReductionKind::sum, row.size(), at), 1);
  row[8192] = 0;
  row[8195] = tiny;
  EXPECT_EQ(reduceRow(ReductionKind::sum, row.size(), at), 1 + 2 * tiny);
}

TEST(Reduction, ColumnsAreBlocksInOrderThenPairs) {
  std::vector<double> column(200, 0.0);
  const auto at = [&](int64_t i) { return column[i]; };
  column[0] = 1;
  column[1] = column[63] = tiny;
  EXPECT_EQ(reduceColumn(ReductionKind::sum, column.size(), at), 1);
  column[63] = 0;
  column[64] = tiny; // the second block
  EXPECT_EQ(reduceColumn(ReductionKind::sum, column.size(), at), 1);
  column[1] = 0;
  column[65] = tiny; // added to it there
  EXPECT_EQ(reduceColumn(ReductionKind::sum, column.size(), at), 1 + 2 * tiny);
  column[65] = 0;
  column[128] = tiny; // the third and fourth block form a pair
  EXPECT_EQ(reduceColumn(ReductionKind::sum, column.size(), at), 1);
}

TEST(Shape, SplitsDimensions) {
  EXPECT_EQ(Shape::of({}).count(), 1);
  EXPECT_EQ(Shape::of({7}).rows, 1);
  EXPECT_EQ(Shape::of({7}).columns, 7);
  const Shape shape = Shape::of({2, 3, 4, 5});
  EXPECT_EQ(shape.batches, 6);
  EXPECT_EQ(shape.places(Extent::row), 24);
  EXPECT_EQ(shape.places(Extent::column), 30);
  EXPECT_EQ(shape.places(Extent::element), 120);
  EXPECT_EQ(shape.places(Extent::tensor), 1);
  EXPECT_EQ(shape.places(Extent::group), 1);
}

} // namespace
