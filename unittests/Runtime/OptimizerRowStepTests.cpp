//===- OptimizerRowStepTests.cpp - Steps of some rows -----------------------------------------===//

#include "FakeRules.h"
#include "ReductionRules.h"
#include "runtime/cpu/ThreadPool.h"

#include <gtest/gtest.h>
#include <utility>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

upd_row_grad rowGrad(size_t param, const std::vector<int64_t> &indices, const upd_tensor &values) {
  return {param, indices.data(), indices.size(), values, 0};
}

std::string stepText(Optimizer &optimizer, const upd_row_grad &rowGrad) {
  return textOf(optimizer.stepRows(nullptr, 0, &rowGrad, 1));
}

int64_t stepsOf(Optimizer &optimizer, size_t param) {
  int64_t steps = -1;
  EXPECT_TRUE(optimizer.getStep(param, steps).ok());
  return steps;
}

template <typename Element> Element *stateOf(Optimizer &optimizer, const char *name) {
  upd_tensor tensor{};
  EXPECT_EQ(textOf(optimizer.state(0, name, tensor)), "ok");
  return static_cast<Element *>(tensor.data);
}

} // namespace

TEST(OptimizerRowStep, OnlyListedRowsChange) {
  TestTensor<float> w({5, 2}, 1), g({2, 2}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const std::vector<int64_t> first = {1, 3}, second = {3, 4};
  ASSERT_EQ(stepText(*optimizer, rowGrad(0, first, g.view())), "ok");
  EXPECT_EQ(w.data, (std::vector<float>{1, 1, 0.8f, 0.8f, 1, 1, 0.8f, 0.8f, 1, 1}));
  ASSERT_EQ(stepText(*optimizer, rowGrad(0, second, g.view())), "ok");
  const float twice = 0.8f - 0.1f * 3, once = 1 - 0.1f * 2;
  EXPECT_EQ(w.data, (std::vector<float>{1, 1, 0.8f, 0.8f, 1, 1, twice, twice, once, once}));
  const float *buf = stateOf<float>(*optimizer, "buf");
  EXPECT_EQ(std::vector<float>(buf, buf + 10), (std::vector<float>{0, 0, 2, 2, 0, 0, 3, 3, 2, 2}));
  EXPECT_EQ(stepsOf(*optimizer, 0), 2);
  // Whole gradients may be none in either form.
  const upd_tensor unread = g.view();
  const upd_row_grad rows = rowGrad(0, second, g.view());
  ASSERT_EQ(textOf(optimizer->stepRows(&unread, 0, &rows, 1)), "ok");
  EXPECT_EQ(stepsOf(*optimizer, 0), 3);
}

TEST(OptimizerRowStep, ValuesBelongToIndicesInOrder) {
  TestTensor<float> w({3, 2}, 0), g({2, 2});
  g.data = {1, 2, 3, 4};
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const std::vector<int64_t> indices = {0, 2};
  ASSERT_EQ(stepText(*optimizer, rowGrad(0, indices, g.view())), "ok");
  EXPECT_EQ(w.data, (std::vector<float>{-0.1f, -0.2f, 0, 0, -0.1f * 3, -0.1f * 4}));
}

/// Several dimensions count the rows, in the order of memory. A scalar is one row.
TEST(OptimizerRowStep, RowsOfSeveralDimensions) {
  TestTensor<float> w({2, 3, 2}, 0), turned({2, 3}, 0), scalar({}, 0);
  turned.strides = {1, 2};
  TestTensor<float> pairs({2, 2}), single({2}), one({1}, 3);
  pairs.data = {1, 2, 3, 4};
  single.data = {1, 2};
  auto optimizer = makeOptimizer(momentumRule(), {w.view(), turned.view(), scalar.view()});
  const std::vector<int64_t> some = {1, 5}, first = {0};
  upd_row_grad rows[] = {rowGrad(0, some, pairs.view()), rowGrad(1, some, single.view()),
                         rowGrad(2, first, one.view())};
  rows[0].index_dims = rows[1].index_dims = 2;
  rows[2].index_dims = 1;
  ASSERT_EQ(textOf(optimizer->stepRows(nullptr, 0, rows, 3)), "ok");
  EXPECT_EQ(w.data,
            (std::vector<float>{0, 0, -0.1f, -0.2f, 0, 0, 0, 0, 0, 0, -0.1f * 3, -0.1f * 4}));
  EXPECT_EQ(turned.data, (std::vector<float>{0, -0.1f, 0, 0, 0, -0.2f}));
  EXPECT_EQ(scalar.data, (std::vector<float>{-0.1f * 3}));
}

/// Any rows, on any number of threads, give the same as a step of a tensor of these rows: two
/// sweeps, rows smaller and larger than a leaf, vectors.
TEST(OptimizerRowStep, AnyShapeOnAnyNumberOfThreads) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{40000}, {1000, 64}, {7, 20000}, {90, 3, 300}, {3, 8192}, {70, 1}})
    for (int32_t threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      const upd_pool handle = pool.handle();
      TestTensor<double> w(shape, 5);
      std::vector<int64_t> indices, rowShape = shape;
      for (int64_t i = 0; i < shape[0]; ++i)
        if (i % 3 != 1 || i % 7 == 0)
          indices.push_back(i);
      rowShape[0] = static_cast<int64_t>(indices.size());
      TestTensor<double> g(rowShape, 1);
      auto optimizer = makeOptimizer(countingRule(), {w.view()}, &handle);
      ASSERT_EQ(stepText(*optimizer, rowGrad(0, indices, g.view())), "ok");
      ASSERT_EQ(stepText(*optimizer, rowGrad(0, indices, g.view())), "ok");
      const size_t rowElements = w.data.size() / static_cast<size_t>(shape[0]);
      size_t wrong = 0;
      for (size_t i = 0; i < w.data.size(); ++i) {
        const auto row = static_cast<int64_t>(i / rowElements);
        const bool listed = row % 3 != 1 || row % 7 == 0;
        wrong += w.data[i] != (listed ? 5 + 1003 : 5);
      }
      EXPECT_EQ(wrong, 0u) << shape[0] << " rows, " << threads << " threads";
    }
}

TEST(OptimizerRowStep, StatesStartWithTheirInitialValues) {
  ThreadPool pool(3);
  const upd_pool handle = pool.handle();
  TestTensor<float> w({1000, 200}, 1), g({1, 200}, 1);
  auto optimizer = makeOptimizer(initialRule(), {w.view()}, &handle);
  const std::vector<int64_t> indices = {999};
  ASSERT_EQ(stepText(*optimizer, rowGrad(0, indices, g.view())), "ok");
  const float *size = stateOf<float>(*optimizer, "size");
  const auto *last = stateOf<uint16_t>(*optimizer, "last");
  bool right = true;
  for (size_t i = 0; i < w.data.size(); ++i) {
    const bool listed = i >= 999 * 200;
    right &= w.data[i] == (listed ? 0.5f : 1) && size[i] == (listed ? 0.5f : 0.25f) &&
             last[i] == (listed ? 0x4000 : 0x3f80);
  }
  EXPECT_TRUE(right);
}

TEST(OptimizerRowStep, NoRowsAreAStep) {
  TestTensor<float> w({4, 2}, 1), g({0, 2});
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  ASSERT_EQ(stepText(*optimizer, rowGrad(0, {}, g.view())), "ok");
  EXPECT_EQ(stepsOf(*optimizer, 0), 1);
  EXPECT_EQ(stateOf<float>(*optimizer, "buf")[0], 0);
  ASSERT_EQ(textOf(optimizer->stepRows(nullptr, 0, nullptr, 0)), "ok");
  EXPECT_EQ(stepsOf(*optimizer, 0), 1);
}

TEST(OptimizerRowStep, WithGradientsOfWholeParameters) {
  TestTensor<float> a({2}, 1), b({3, 1}, 1), c({2}, 1), ga({2}, 2), gb({1, 1}, 2), gc({2}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view(), c.view()});
  const std::vector<int64_t> indices = {2};
  const upd_row_grad rows = rowGrad(1, indices, gb.view());
  std::vector<upd_tensor> grads = {ga.view(), absentGradient(), absentGradient()};
  ASSERT_EQ(textOf(optimizer->stepRows(grads.data(), 3, &rows, 1)), "ok");
  EXPECT_EQ(a.data, std::vector<float>(2, 0.8f));
  EXPECT_EQ(b.data, (std::vector<float>{1, 1, 0.8f}));
  EXPECT_EQ(c.data, std::vector<float>(2, 1));
  EXPECT_EQ(stepsOf(*optimizer, 0), 1);
  EXPECT_EQ(stepsOf(*optimizer, 1), 1);
  EXPECT_EQ(stepsOf(*optimizer, 2), 0);
}

/// A group's size covers all parameters with a step, whether they have whole gradients or rows.
TEST(OptimizerRowStep, GroupSizesCountAllParametersOfTheStep) {
  auto kernels = std::make_shared<Kernels>(*countingRule());
  kernels->plans[0].prologues[0] = [](const double *, const double *perTensor, const double *,
                                      const double *, void *row, double *) {
    auto *values = static_cast<double *>(row);
    values[0] = 0;
    values[1] = perTensor[UPD_TENSOR_GROUP_SIZE];
  };
  TestTensor<double> a({3}), b({4, 5}), c({7, 1}), d({100}), other({1000}), g({3}), gb({1, 5}),
      gc({1, 1}), gOther({1000});
  const std::vector<upd_tensor> params = {a.view(), b.view(), c.view(), d.view()};
  const std::vector<upd_tensor> others = {other.view()};
  const upd_group groups[] = {groupOf(params), groupOf(others)};
  std::unique_ptr<Optimizer> optimizer;
  ASSERT_EQ(textOf(CpuOptimizer::create(kernels, groups, 2, nullptr, optimizer)), "ok");
  const std::vector<int64_t> indices = {2};
  const upd_row_grad rows[] = {rowGrad(1, indices, gb.view()), rowGrad(2, indices, gc.view())};
  const upd_tensor absent = absentGradient();
  const std::vector<upd_tensor> grads = {g.view(), absent, absent, absent, gOther.view()};
  auto moved = [](double &element) { return std::exchange(element, 0) - 0.5; };
  auto expect = [&](double sizeOfA, double sizeOfB, double sizeOfC) {
    EXPECT_EQ(moved(a.data[0]), sizeOfA);
    EXPECT_EQ(moved(b.data[10]), sizeOfB);
    EXPECT_EQ(moved(c.data[2]), sizeOfC);
  };
  constexpr double none = -0.5;
  for (int turn = 0; turn < 2; ++turn) {
    other.data[0] = 0;
    ASSERT_EQ(textOf(optimizer->stepRows(grads.data(), 5, rows, 2)), "ok");
    expect(30, 30, 30);
    EXPECT_EQ(moved(other.data[0]), 1000);
    ASSERT_EQ(textOf(optimizer->stepRows(grads.data(), 5, rows, 1)), "ok");
    expect(23, 23, none);
    ASSERT_EQ(textOf(optimizer->step(grads.data(), 5)), "ok");
    expect(3, none, none);
    ASSERT_EQ(textOf(optimizer->stepRows(nullptr, 0, rows + 1, 1)), "ok");
    expect(none, none, 7);
  }
}

/// Alternates between whole gradients and rows, with the same step count and state.
TEST(OptimizerRowStep, InTurnWithWholeSteps) {
  TestTensor<double> a({4}), b({4}), whole({4}), some({2});
  auto optimizer = makeOptimizer(countingRule(), {a.view(), b.view()});
  const std::vector<int64_t> indices = {0, 3};
  const upd_row_grad rows = rowGrad(0, indices, some.view());
  const std::vector<upd_tensor> both = {whole.view(), whole.view()};
  ASSERT_EQ(textOf(optimizer->step(both.data(), 2)), "ok");
  ASSERT_EQ(textOf(optimizer->step(both.data(), 2)), "ok");
  ASSERT_EQ(textOf(optimizer->stepRows(nullptr, 0, &rows, 1)), "ok");
  EXPECT_EQ(stepsOf(*optimizer, 0), 3);
  EXPECT_EQ(stepsOf(*optimizer, 1), 2);
  ASSERT_EQ(textOf(optimizer->step(both.data(), 2)), "ok");
  EXPECT_EQ(stepsOf(*optimizer, 0), 4);
  EXPECT_EQ(stepsOf(*optimizer, 1), 3);
  // The first step counts for the whole parameter, because there are no states.
  EXPECT_EQ(a.data, (std::vector<double>{1006, 1004.5, 1004.5, 1006}));
}

TEST(OptimizerRowStep, SkippedStepsLeaveNothing) {
  TestTensor<float> w({3, 2}, 1), g({1, 2});
  auto optimizer = makeOptimizer(skippingRule(), {w.view()});
  const std::vector<int64_t> indices = {1};
  const upd_row_grad rows = rowGrad(0, indices, g.view());
  ASSERT_EQ(textOf(optimizer->setHyper(0, "stop", 1)), "ok");
  ASSERT_EQ(textOf(optimizer->stepRows(nullptr, 0, &rows, 1)), "ok");
  upd_tensor state;
  EXPECT_EQ(optimizer->state(0, "n", state).code(), UPD_NOT_FOUND);
  EXPECT_EQ(stepsOf(*optimizer, 0), 0);
  ASSERT_EQ(textOf(optimizer->setHyper(0, "stop", 0)), "ok");
  ASSERT_EQ(textOf(optimizer->stepRows(nullptr, 0, &rows, 1)), "ok");
  EXPECT_EQ(stepsOf(*optimizer, 0), 1);
}

TEST(OptimizerRowStep, RefusesIndices) {
  TestTensor<float> w({10, 2}, 1), g({3, 2}, 1), many({11, 2}, 1);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  auto refusal = [&](const std::vector<int64_t> &indices) {
    return stepText(*optimizer, rowGrad(0, indices, g.view()));
  };
  EXPECT_EQ(refusal({1, 2, 10}), "index 2 of parameter `0` is 10, but its rows are from 0 to 9");
  EXPECT_EQ(refusal({-1, 2, 3}), "index 0 of parameter `0` is -1, but its rows are from 0 to 9");
  EXPECT_EQ(refusal({1, 4, 4}), "indices 1 and 2 of parameter `0` are both 4; add up the gradients "
                                "of a row, and give it once");
  EXPECT_EQ(refusal({1, 7, 2}),
            "index 2 of parameter `0` is 2, after 7; give rows in ascending order");
  EXPECT_EQ(stepText(*optimizer, {0, nullptr, 3, g.view(), 0}),
            "the indices of parameter `0` are null, but index_count is 3");
  EXPECT_EQ(stepText(*optimizer, {0, reinterpret_cast<int64_t *>(8), 11, many.view(), 0}),
            "there are 11 indices for the 10 rows of parameter `0`; give each row once");
  EXPECT_EQ(w.data, std::vector<float>(20, 1));
  EXPECT_EQ(stepsOf(*optimizer, 0), 0);
}

TEST(OptimizerRowStep, RefusesValues) {
  TestTensor<float> w({10, 2}, 1), fewer({2, 2}), wider({3, 3}), flat({6}), across({3, 2});
  TestTensor<double> f64({3, 2});
  across.strides = {1, 3};
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const std::vector<int64_t> indices = {1, 5, 6};
  auto refusal = [&](const upd_tensor &values) {
    return stepText(*optimizer, rowGrad(0, indices, values));
  };
  EXPECT_EQ(refusal(fewer.view()), "gradient of parameter `0` is [2, 2], but one of 3 rows is "
                                   "[3, 2]; give a tensor of the same shape and strides");
  EXPECT_EQ(refusal(wider.view()), "gradient of parameter `0` is [3, 3], but one of 3 rows is "
                                   "[3, 2]; give a tensor of the same shape and strides");
  EXPECT_EQ(refusal(flat.view()), "gradient of parameter `0` is [6], but one of 3 rows is "
                                  "[3, 2]; give a tensor of the same shape and strides");
  EXPECT_EQ(refusal(across.view()), "gradient of parameter `0` is [3, 2] with strides [1, 3], but "
                                    "one of 3 rows has strides [2, 1]; give a tensor of the same "
                                    "strides");
  EXPECT_EQ(refusal(f64.view()),
            "gradient of parameter `0` is f64, but the rule is compiled for f32 gradients; convert "
            "it, or compile the rule with this storage type");
  upd_tensor inside = fewer.view();
  inside.data = w.data.data() + 4;
  const std::vector<int64_t> two = {1, 5};
  EXPECT_EQ(
      stepText(*optimizer, rowGrad(0, two, inside)),
      "gradient of parameter `0` overlaps parameter `0`; a step only reads gradients, so give "
      "it memory of its own");
  EXPECT_EQ(w.data, std::vector<float>(20, 1));
}

TEST(OptimizerRowStep, RefusesParameters) {
  TestTensor<float> w({4, 2}, 1), scalar({}, 1), turned({4, 2}, 1), g({1, 2}), whole({4, 2});
  TestTensor<float> scalarGrad({1});
  turned.strides = {1, 4};
  auto optimizer = makeOptimizer(momentumRule(), {w.view(), scalar.view(), turned.view()});
  const std::vector<int64_t> indices = {1};
  EXPECT_EQ(stepText(*optimizer, rowGrad(3, indices, g.view())),
            "parameter 3 does not exist; the optimizer has 3");
  EXPECT_EQ(stepText(*optimizer, rowGrad(1, indices, scalarGrad.view())),
            "index 0 of parameter `1` is 1, but its rows are from 0 to 0");
  for (const int32_t dims : {-1, 3}) {
    upd_row_grad wrong = rowGrad(0, indices, g.view());
    wrong.index_dims = dims;
    EXPECT_EQ(stepText(*optimizer, wrong),
              "index_dims of parameter `0` is " + std::to_string(dims) +
                  ", but it has 2 dimensions; give how many of them count the rows");
  }
  EXPECT_EQ(stepText(*optimizer, rowGrad(2, indices, g.view())),
            "parameter `2` is [4, 2] with strides [1, 4], so its rows are not apart in memory; "
            "give a gradient of the whole parameter");
  const upd_row_grad rows = rowGrad(0, indices, g.view());
  const std::vector<upd_tensor> grads = {whole.view(), absentGradient(), absentGradient()};
  EXPECT_EQ(textOf(optimizer->stepRows(grads.data(), 3, &rows, 1)),
            "parameter `0` has a gradient and a gradient of rows; give one of them");
  const std::vector<upd_row_grad> twice = {rows, rows};
  EXPECT_EQ(textOf(optimizer->stepRows(nullptr, 0, twice.data(), 2)),
            "parameter `0` has two gradients of rows; give one");
  EXPECT_EQ(textOf(optimizer->stepRows(nullptr, 0, nullptr, 2)),
            "row_grads is null, but row_grad_count is 2");
  // Errors in the other gradients are found before any row is written.
  EXPECT_EQ(textOf(optimizer->stepRows(nullptr, 2, &rows, 1)),
            "there are 2 gradients for 3 parameters; an absent one has the rank UPD_ABSENT");
  EXPECT_EQ(w.data, std::vector<float>(8, 1));
  EXPECT_EQ(stepsOf(*optimizer, 0), 0);
}

TEST(OptimizerRowStep, RefusesPartlyBoundStates) {
  TestTensor<float> w({2, 1}, 1), g({1, 1}), size({2, 1});
  auto optimizer = makeOptimizer(initialRule(), {w.view()});
  ASSERT_EQ(textOf(optimizer->bindState(0, "size", size.view())), "ok");
  const std::vector<int64_t> indices = {1};
  EXPECT_EQ(stepText(*optimizer, rowGrad(0, indices, g.view())),
            "parameter `0` has state `size` but not `last`; give it all of its states, or none");
}

TEST(OptimizerRowStep, RefusesRulesWithOtherDependencies) {
  TestTensor<float> w({4, 2}, 1), v({4}, 1), g({1, 2}), g1({1});
  const std::vector<int64_t> indices = {1};
  auto refusal = [&](std::shared_ptr<const Kernels> kernels, size_t param) {
    auto optimizer = makeOptimizer(std::move(kernels), {w.view(), v.view()});
    return stepText(*optimizer, rowGrad(param, indices, param == 0 ? g.view() : g1.view()));
  };
  EXPECT_EQ(refusal(clipRule(), 0),
            "rule `Clip` cannot step some rows of parameter `0`: it reduces over the whole group; "
            "give a gradient of the whole parameter");
  EXPECT_EQ(refusal(siteRule(), 1),
            "rule `Site` cannot step some rows of parameter `1`: its random numbers depend on the "
            "place of an element in a whole tensor; give a gradient of the whole parameter");
  auto without = [](std::shared_ptr<const Kernels> kernels, Extent over) {
    auto copy = std::make_shared<Kernels>(*kernels);
    for (PlanInterface &plan : copy->interface.plans)
      for (SweepInterface &sweep : plan.sweeps)
        std::erase_if(sweep.reductions, [&](const auto &found) { return found.over == over; });
    return copy;
  };
  EXPECT_EQ(refusal(without(clipRule(), Extent::Group), 0),
            "rule `Clip` cannot step some rows of parameter `0`: it reduces over whole tensors; "
            "give a gradient of the whole parameter");
  EXPECT_EQ(
      refusal(without(without(clipRule(), Extent::Group), Extent::Tensor), 0),
      "rule `Clip` cannot step some rows of parameter `0`: its state `largest` is one for the "
      "group; give a gradient of the whole parameter");
}
