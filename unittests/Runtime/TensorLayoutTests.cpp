//===- TensorLayoutTests.cpp - Shapes and strides of dense tensors ----------------------------===//

#include "FakeRules.h"
#include "runtime/optimizer/RowMajorRuns.h"
#include "runtime/optimizer/TensorLayout.h"

#include <gtest/gtest.h>

using namespace updraft::runtime;
using updraft::runtime::test::textOf;

namespace {
struct View {
  std::vector<int64_t> shape, strides;
  upd_tensor tensor() const {
    upd_tensor result{};
    result.shape = shape.data();
    result.strides = strides.empty() ? nullptr : strides.data();
    result.rank = static_cast<int32_t>(shape.size());
    return result;
  }
};

std::string refusal(const View &view) {
  std::vector<int64_t> dimensions;
  TensorLayout layout;
  return textOf(readLayout(view.tensor(), "parameter `w`", dimensions, layout));
}
} // namespace

TEST(TensorLayout, DenseInAnyOrder) {
  EXPECT_EQ(refusal({{}, {}}), "ok");
  EXPECT_EQ(refusal({{3}, {}}), "ok");
  EXPECT_EQ(refusal({{2, 3}, {3, 1}}), "ok");
  EXPECT_EQ(refusal({{2, 3}, {1, 2}}), "ok");
  EXPECT_EQ(refusal({{2, 3, 4}, {3, 1, 6}}), "ok");
  EXPECT_EQ(refusal({{1, 3}, {77, 1}}), "ok");
  EXPECT_EQ(refusal({{0, 3}, {5, 5}}), "ok");
  EXPECT_EQ(refusal({{1}, {-4}}), "ok");
}

TEST(TensorLayout, RefusesTensorsThatAreNotDense) {
  const std::string hint = "; give a contiguous tensor, or each part that is one";
  EXPECT_EQ(refusal({{3}, {2}}), "parameter `w` is not dense: [3] with strides [2]" + hint);
  EXPECT_EQ(refusal({{3}, {0}}), "parameter `w` is not dense: [3] with strides [0]" + hint);
  for (const View &reversed : {View{{3}, {-1}}, View{{2, 3}, {3, -1}}, View{{2, 2}, {-3, 1}}}) {
    const upd_tensor tensor = reversed.tensor();
    EXPECT_EQ(refusal(reversed), "parameter `w` runs backwards in memory: " + layoutText(tensor) +
                                     "; give the tensor that it is a reversed view of, or a copy");
  }
  EXPECT_EQ(refusal({{2, 3}, {4, 1}}),
            "parameter `w` is not dense: [2, 3] with strides [4, 1]" + hint);
  EXPECT_EQ(refusal({{2, 2}, {1, 1}}),
            "parameter `w` is not dense: [2, 2] with strides [1, 1]" + hint);
  EXPECT_EQ(refusal({{-1}, {}}), "parameter `w` has shape [-1]; a size is at least 0");
  EXPECT_EQ(refusal({{int64_t(1) << 40, int64_t(1) << 40}, {}}),
            "parameter `w` has shape [1099511627776, 1099511627776], more than 2^48 elements");
  EXPECT_EQ(refusal({std::vector<int64_t>(65, 1), {}}),
            "parameter `w` has rank 65; a rank is from 0 to 64");
  upd_tensor noShape{};
  noShape.rank = 2;
  std::vector<int64_t> dimensions;
  TensorLayout layout;
  EXPECT_EQ(textOf(readLayout(noShape, "parameter `w`", dimensions, layout)),
            "parameter `w` has rank 2, but its shape is null");
}

TEST(TensorLayout, ComparesWhereElementsLie) {
  std::vector<int64_t> dimensions;
  TensorLayout layout;
  const View transposed{{2, 3}, {1, 2}}, plain{{2, 3}, {}}, explicitPlain{{2, 3}, {3, 1}};
  ASSERT_TRUE(readLayout(transposed.tensor(), "t", dimensions, layout).ok());
  EXPECT_TRUE(hasLayout(transposed.tensor(), layout));
  EXPECT_FALSE(hasLayout(plain.tensor(), layout));
  EXPECT_FALSE(hasLayout(explicitPlain.tensor(), layout));
  dimensions.clear();
  ASSERT_TRUE(readLayout(plain.tensor(), "t", dimensions, layout).ok());
  EXPECT_TRUE(hasLayout(plain.tensor(), layout));
  EXPECT_TRUE(hasLayout(explicitPlain.tensor(), layout));
  EXPECT_FALSE(hasLayout(View{{3, 2}, {}}.tensor(), layout));
  EXPECT_FALSE(hasLayout(View{{6}, {}}.tensor(), layout));
  dimensions.clear();
  const View column{{3, 1}, {1, 1}};
  ASSERT_TRUE(readLayout(column.tensor(), "t", dimensions, layout).ok());
  EXPECT_TRUE(hasLayout(View{{3, 1}, {1, 99}}.tensor(), layout));
}

TEST(RowMajorRuns, VisitsEveryElementInOrder) {
  std::vector<int64_t> dimensions;
  TensorLayout layout;
  const View view{{2, 3, 4}, {3, 1, 6}};
  ASSERT_TRUE(readLayout(view.tensor(), "t", dimensions, layout).ok());
  std::vector<int64_t> places;
  for (RowMajorRuns runs(layout); !runs.atEnd(); runs.next())
    for (int64_t i = 0; i < runs.length(); ++i)
      places.push_back(runs.start() + i * runs.stride());
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 4; ++k)
        expected.push_back(3 * i + j + 6 * k);
  EXPECT_EQ(places, expected);
}
