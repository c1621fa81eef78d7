//===- OptimizerMatrixTests.cpp - Steps over rows and columns ---------------------------------===//

#include "ReductionRules.h"
#include "runtime/base/Safetensors.h"
#include "runtime/cpu/ThreadPool.h"
#include "tools/harness/TemporaryFolder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

struct Shape {
  int64_t batches, rows, columns;
};

/// A matrix of ones after two steps of factoredRule.
std::vector<float> expectedMatrix(const std::vector<float> &grad, Shape shape, float norm,
                                  std::vector<float> &rowVar, std::vector<double> &colVar) {
  const auto [batches, rows, columns] = shape;
  std::vector<float> result(grad.size(), 1);
  rowVar.assign(static_cast<size_t>(batches * rows), 0.5f);
  colVar.assign(static_cast<size_t>(batches * columns), -INFINITY);
  for (int64_t i = 0; i < batches * rows; ++i)
    for (int64_t c = 0; c < columns; ++c) {
      double &largest = colVar[static_cast<size_t>(i / rows * columns + c)];
      largest = std::max(largest, double(grad[static_cast<size_t>(i * columns + c)]));
    }
  for (int step = 0; step < 2; ++step) {
    for (int64_t i = 0; i < batches * rows; ++i)
      rowVar[static_cast<size_t>(i)] +=
          static_cast<float>(rowSquares(grad.data() + i * columns, columns));
    const auto total =
        static_cast<float>(flatSum(std::vector<double>(rowVar.begin(), rowVar.end())));
    for (int64_t i = 0; i < batches * rows; ++i)
      for (int64_t c = 0; c < columns; ++c)
        result[static_cast<size_t>(i * columns + c)] -=
            norm + rowVar[static_cast<size_t>(i)] +
            static_cast<float>(colVar[static_cast<size_t>(i / rows * columns + c)]) + total +
            static_cast<float>(c);
  }
  return result;
}

template <typename Value>
std::vector<Value> stateOf(Optimizer &optimizer, size_t param, const char *name,
                           const std::vector<int64_t> &shape) {
  upd_tensor state{};
  Status status = optimizer.state(param, name, state);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok())
    return {};
  EXPECT_EQ((std::vector<int64_t>{state.shape, state.shape + state.rank}), shape);
  size_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<size_t>(size);
  const auto *data = static_cast<const Value *>(state.data);
  return {data, data + count};
}

} // namespace

TEST(OptimizerMatrix, RowsColumnsAndANormOverBothClasses) {
  const std::vector<std::vector<int64_t>> shapes = {{5000}, {150, 301}, {3, 130, 40}, {0, 4},
                                                    {4, 0}, {1, 1},     {2, 3, 64, 9}};
  std::mt19937 random(9);
  std::vector<TestTensor<float>> grads;
  for (const std::vector<int64_t> &shape : shapes) {
    grads.emplace_back(shape);
    for (float &value : grads.back().data)
      value = static_cast<float>(random() % 20011) / 10007 - 1;
  }
  const Shape matrices[] = {{0, 0, 0}, {1, 150, 301}, {3, 130, 40}, {1, 0, 4},
                            {1, 4, 0}, {1, 1, 1},     {6, 64, 9}};
  std::vector<double> squares = {flatSum(grads[0].data, true)};
  for (size_t i = 1; i < shapes.size(); ++i)
    squares.push_back(
        matrixSquares(grads[i].data, matrices[i].batches, matrices[i].rows, matrices[i].columns));
  const auto norm = static_cast<float>(std::sqrt(pairwise(squares)));
  for (int32_t threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    const upd_pool handle = pool.handle();
    std::vector<TestTensor<float>> params;
    std::vector<upd_tensor> paramViews, gradViews;
    for (size_t i = 0; i < shapes.size(); ++i) {
      params.emplace_back(shapes[i], 1.0f);
      gradViews.push_back(grads[i].view());
    }
    for (TestTensor<float> &param : params)
      paramViews.push_back(param.view());
    auto optimizer = makeOptimizer(factoredRule(), paramViews, &handle);
    for (int step = 0; step < 2; ++step)
      ASSERT_EQ(textOf(optimizer->step(gradViews.data(), gradViews.size())), "ok");
    EXPECT_EQ(params[0].data, std::vector<float>(5000, 1 - norm - norm));
    for (size_t i = 1; i < shapes.size(); ++i) {
      std::vector<float> rowVar;
      std::vector<double> colVar;
      const std::vector<float> expected =
          expectedMatrix(grads[i].data, matrices[i], norm, rowVar, colVar);
      EXPECT_EQ(params[i].data, expected) << threads << " threads, tensor " << i;
      std::vector<int64_t> rowShape = shapes[i], columnShape = shapes[i];
      rowShape[rowShape.size() - 1] = 1;
      columnShape[columnShape.size() - 2] = 1;
      EXPECT_EQ(stateOf<float>(*optimizer, i, "row_var", rowShape), rowVar);
      EXPECT_EQ(stateOf<double>(*optimizer, i, "col_var", columnShape), colVar);
    }
    upd_tensor state;
    EXPECT_EQ(textOf(optimizer->state(0, "row_var", state)),
              "parameter `0` has no state `row_var`, which is for matrices only");
    EXPECT_EQ(textOf(optimizer->state(1, "v", state)),
              "parameter `1` has no state `v`, which is for vectors only");
  }
}

TEST(OptimizerMatrix, SavedAndLoaded) {
  const updraft::harness::TemporaryFolder folder;
  const std::string path = folder.path() + "/state.safetensors";
  TestTensor<float> w({2, 3, 4}, 1), b({3}, 1), gw({2, 3, 4}, 2), gb({3}, 2);
  TestTensor<float> w2({2, 3, 4}, 1), b2({3}, 1);
  const std::vector<upd_tensor> grads = {gw.view(), gb.view()};
  auto first = makeOptimizer(factoredRule(), {w.view(), b.view()});
  auto second = makeOptimizer(factoredRule(), {w2.view(), b2.view()});
  ASSERT_EQ(textOf(first->step(grads.data(), 2)), "ok");
  ASSERT_EQ(textOf(first->save(path)), "ok");
  SafetensorsFile file;
  ASSERT_EQ(textOf(SafetensorsFile::open(path, file)), "ok");
  ASSERT_TRUE(file.find("state/0/row_var") && file.find("state/0/col_var"));
  EXPECT_EQ(file.find("state/0/row_var")->shape, (std::vector<int64_t>{2, 3, 1}));
  EXPECT_EQ(file.find("state/0/col_var")->shape, (std::vector<int64_t>{2, 1, 4}));
  EXPECT_FALSE(file.find("state/0/v"));
  EXPECT_FALSE(file.find("state/1/row_var"));
  ASSERT_EQ(textOf(second->load(path)), "ok");
  w2.data = w.data;
  b2.data = b.data;
  ASSERT_EQ(textOf(first->step(grads.data(), 2)), "ok");
  ASSERT_EQ(textOf(second->step(grads.data(), 2)), "ok");
  EXPECT_EQ(w2.data, w.data);
  EXPECT_EQ(b2.data, b.data);
  auto swapped = makeOptimizer(factoredRule(), {b2.view(), w2.view()});
  EXPECT_EQ(textOf(swapped->load(path)), "`" + path +
                                             "` does not fit the optimizer: parameter `0` has no "
                                             "state `col_var`, which is for matrices only");
}

TEST(OptimizerMatrix, BatchesMayLieInAnyOrder) {
  // [2, 3, 4, 5] whose first two dimensions are swapped in memory.
  TestTensor<float> w({2, 3, 4, 5}, 1), g({2, 3, 4, 5});
  w.strides = g.strides = {20, 40, 5, 1};
  for (size_t i = 0; i < g.data.size(); ++i)
    g.data[i] = static_cast<float>(i);
  auto optimizer = makeOptimizer(factoredRule(), {w.view()});
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  upd_tensor state{};
  ASSERT_EQ(textOf(optimizer->state(0, "row_var", state)), "ok");
  EXPECT_EQ((std::vector<int64_t>{state.strides, state.strides + 2}), (std::vector<int64_t>{4, 8}));
  const auto *values = static_cast<const float *>(state.data);
  // Batch (1, 2) is the sixth in memory.
  EXPECT_EQ(values[1 * 4 + 2 * 8], 0.5f + static_cast<float>(rowSquares(g.data.data() + 100, 5)));
  ASSERT_EQ(textOf(optimizer->state(0, "col_var", state)), "ok");
  EXPECT_EQ((std::vector<int64_t>{state.strides, state.strides + 2}),
            (std::vector<int64_t>{5, 10}));
}

TEST(OptimizerMatrix, RefusesColumnsFirst) {
  TestTensor<float> w({2, 3}, 1), v({3}, 1);
  w.strides = {1, 2};
  const std::vector<upd_tensor> params = {v.view(), w.view()};
  const upd_group group = groupOf(params);
  std::unique_ptr<Optimizer> optimizer;
  EXPECT_EQ(textOf(CpuOptimizer::create(factoredRule(), &group, 1, nullptr, optimizer)),
            "parameter `1` is [2, 3] with strides [1, 2], but rule `Factored` works on rows and "
            "columns; give a tensor whose last two dimensions are row-major");
  // A rule that only works on elements accepts any order.
  EXPECT_EQ(textOf(CpuOptimizer::create(clipRule(), &group, 1, nullptr, optimizer)), "ok");
}

TEST(OptimizerMatrix, RefusesTensorsWithoutAPlan) {
  auto kernels = std::make_shared<Kernels>(*factoredRule());
  kernels->interface.plans.erase(kernels->interface.plans.begin());
  kernels->plans.erase(kernels->plans.begin());
  TestTensor<float> w({2, 3}, 1), v({3}, 1);
  const std::vector<upd_tensor> params = {w.view(), v.view()};
  const upd_group group = groupOf(params);
  std::unique_ptr<Optimizer> optimizer;
  EXPECT_EQ(textOf(CpuOptimizer::create(kernels, &group, 1, nullptr, optimizer)),
            "parameter `1` has 1 dimension, but rule `Factored` is for tensors of two or more");
}
