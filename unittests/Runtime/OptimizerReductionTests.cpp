//===- OptimizerReductionTests.cpp - Steps with reductions, scalar states, skipped steps ------===//

#include "ReductionRules.h"
#include "runtime/base/Safetensors.h"
#include "runtime/cpu/ReductionTree.h"
#include "runtime/cpu/ThreadPool.h"
#include "tools/harness/TemporaryFolder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

double valueOf(Optimizer &optimizer, size_t param, const char *name) {
  upd_tensor state{};
  Status status = optimizer.state(param, name, state);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(state.rank, 0);
  return !status.ok()             ? NAN
         : state.dtype == UPD_F32 ? *static_cast<const float *>(state.data)
                                  : *static_cast<const double *>(state.data);
}

int64_t stepOf(Optimizer &optimizer, size_t param) {
  int64_t step = -1;
  EXPECT_TRUE(optimizer.getStep(param, step).ok());
  return step;
}

/// Parameters with these sizes and random gradients.
struct Model {
  std::vector<TestTensor<float>> params, grads;
  std::vector<upd_tensor> paramViews, gradViews;

  explicit Model(const std::vector<std::vector<int64_t>> &shapes) {
    std::mt19937 random(5);
    for (const std::vector<int64_t> &shape : shapes) {
      params.emplace_back(shape, 1.0f);
      grads.emplace_back(shape);
      for (float &value : grads.back().data)
        value = static_cast<float>(random() % 20011) / 10007 - 1;
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      paramViews.push_back(params[i].view());
      gradViews.push_back(grads[i].view());
    }
  }
  std::string step(Optimizer &optimizer) {
    return textOf(optimizer.step(gradViews.data(), gradViews.size()));
  }
};

} // namespace

TEST(ReductionTree, PairsUpLevelByLevel) {
  std::mt19937 random(2);
  for (size_t count = 0; count < 70; ++count) {
    std::vector<double> values(count), strided(3 * count);
    for (size_t i = 0; i < count; ++i)
      strided[3 * i] = values[i] = std::ldexp(double(random()), int(random() % 60)) / 3;
    EXPECT_EQ(combineValues(ReductionKind::Sum, strided.data(), count, 3), pairwise(values));
  }
}

TEST(ReductionTree, ANaNIsTheLargest) {
  double values[] = {1, std::nan(""), 3};
  EXPECT_TRUE(std::isnan(combineValues(ReductionKind::Max, values, 3, 1)));
  EXPECT_EQ(combineValues(ReductionKind::Max, values, 0, 1), -infinity);
  EXPECT_FALSE(std::signbit(maximumOf(-0.0, 0.0)));
  EXPECT_FALSE(std::signbit(maximumOf(0.0, -0.0)));
  EXPECT_EQ(maximumOf(2, -3), 2);
}

TEST(OptimizerReduction, SameBitsForAnyNumberOfThreads) {
  for (int32_t threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    const upd_pool handle = pool.handle();
    Model model({{8193}, {0}, {5}, {300, 201}, {40000}, {77}});
    auto optimizer = makeOptimizer(clipRule(), model.paramViews, &handle);
    model.gradViews[5] = absentGradient();
    std::vector<double> squares, maxima;
    for (size_t i = 0; i < 5; ++i) {
      squares.push_back(flatSum(model.grads[i].data, true));
      maxima.push_back(flatMax(model.grads[i].data));
    }
    const double norm = std::sqrt(pairwise(squares));
    const auto scale = static_cast<float>(1 / norm);
    for (int step = 1; step <= 3; ++step) {
      ASSERT_EQ(model.step(*optimizer), "ok");
      EXPECT_EQ(valueOf(*optimizer, 0, "largest"), pairwise(maxima, true));
    }
    for (size_t i = 0; i < 5; ++i) {
      const double sum = flatSum(model.grads[i].data, false);
      float total = 0;
      for (int step = 0; step < 3; ++step)
        total = static_cast<float>(total + sum);
      EXPECT_EQ(valueOf(*optimizer, i, "sum"), total) << threads << " threads, tensor " << i;
      for (size_t j = 0; j < model.params[i].data.size(); ++j) {
        float expected = 1;
        for (int step = 1; step <= 3; ++step)
          expected -= scale * model.grads[i].data[j] + static_cast<float>(step);
        ASSERT_EQ(model.params[i].data[j], expected) << threads << " threads, " << i << ", " << j;
      }
    }
    upd_tensor state;
    EXPECT_EQ(optimizer->state(5, "sum", state).code(), UPD_NOT_FOUND);
    EXPECT_EQ(model.params[5].data, std::vector<float>(77, 1));
  }
}

// With 12 bytes per element, the threads share a window of the large tensor and the ones after it,
// and have separate windows for the others. Seven threads can't divide these, so they share all.
TEST(OptimizerReduction, SameBitsFromWindowToWindow) {
  for (int32_t threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    const upd_pool handle = pool.handle();
    std::vector<std::vector<int64_t>> shapes(31, {100, 170});
    shapes[4] = {0};
    shapes[12] = {9};
    shapes[25] = {500000};
    Model model(shapes);
    auto optimizer = makeOptimizer(normalizedRule(), model.paramViews, &handle);
    model.gradViews[10] = absentGradient();
    model.grads[20].data[7] = infinity;
    for (int step = 1; step <= 3; ++step) {
      normalizedCalls();
      ASSERT_EQ(model.step(*optimizer), "ok");
    }
    // Whether the first sweep ran over some tensors after the second had run over others.
    const std::vector<int> calls = normalizedCalls();
    EXPECT_EQ(std::is_sorted(calls.begin(), calls.end()), threads == 7) << threads;

    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::vector<float> &grads = model.grads[i].data;
      const auto scale = static_cast<float>(1 / std::sqrt(flatSum(grads, true)));
      const bool isLeft = i == 10 || i == 20;
      EXPECT_EQ(stepOf(*optimizer, i), isLeft ? 0 : 3);
      for (size_t j = 0; j < grads.size(); ++j) {
        float expected = 1;
        for (int step = 1; step <= 3 && !isLeft; ++step)
          expected -= scale * grads[j] + static_cast<float>(step);
        ASSERT_EQ(model.params[i].data[j], expected) << threads << " threads, " << i << ", " << j;
      }
    }
  }
}

TEST(OptimizerReduction, GroupsAreApart) {
  Model model({{2}, {2}, {2}});
  for (size_t i = 0; i < 3; ++i)
    model.grads[i].data = {3 * float(i + 1), 4 * float(i + 1)};
  upd_group groups[2] = {};
  groups[0].params = model.paramViews.data();
  groups[0].param_count = 1;
  groups[1].params = model.paramViews.data() + 1;
  groups[1].param_count = 2;
  std::unique_ptr<Optimizer> optimizer;
  ASSERT_EQ(textOf(CpuOptimizer::create(clipRule(), groups, 2, nullptr, optimizer)), "ok");
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(model.params[0].data[0], 1 - (static_cast<float>(1.0 / 5) * 3 + 1));
  const auto scale = static_cast<float>(1 / std::sqrt(100.0 + 225.0));
  EXPECT_EQ(model.params[2].data[1], 1 - (scale * 12 + 1));
  EXPECT_EQ(valueOf(*optimizer, 0, "largest"), 4);
  EXPECT_EQ(valueOf(*optimizer, 1, "largest"), 12);
  EXPECT_EQ(valueOf(*optimizer, 2, "largest"), 12);
}

TEST(OptimizerReduction, SkipsAGroup) {
  Model model({{3}, {40000}});
  auto optimizer = makeOptimizer(clipRule(), model.paramViews);
  ASSERT_EQ(textOf(optimizer->setHyper(0, "start", 7)), "ok");
  const float good = model.grads[1].data[9];
  model.grads[1].data[9] = infinity;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(model.step(*optimizer), "ok");
    EXPECT_EQ(model.params[0].data, std::vector<float>(3, 1));
    upd_tensor state;
    for (const char *name : {"m", "sum", "largest"})
      EXPECT_EQ(optimizer->state(0, name, state).code(), UPD_NOT_FOUND);
    EXPECT_EQ(stepOf(*optimizer, 0), 0);
  }
  // The initial values come from the hyperparameters at the time of creation, even if a skipped
  // step has left other values.
  model.grads[1].data[9] = good;
  ASSERT_EQ(textOf(optimizer->setHyper(0, "start", 0)), "ok");
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(stepOf(*optimizer, 0), 1);
  upd_tensor state;
  ASSERT_EQ(textOf(optimizer->state(1, "m", state)), "ok");
  EXPECT_EQ(static_cast<const float *>(state.data)[39999], 1);
  const auto sum = static_cast<float>(flatSum(model.grads[0].data, false));
  EXPECT_EQ(valueOf(*optimizer, 0, "sum"), sum);
  const double largest = valueOf(*optimizer, 0, "largest");
  // Existing states don't change in a skipped step.
  const std::vector<float> before = model.params[1].data;
  model.grads[1].data[9] = std::nanf("");
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(model.params[1].data, before);
  EXPECT_EQ(valueOf(*optimizer, 0, "sum"), sum);
  EXPECT_EQ(valueOf(*optimizer, 0, "largest"), largest);
  EXPECT_EQ(stepOf(*optimizer, 0), 1);
}

TEST(OptimizerReduction, SkipsATensor) {
  Model model({{2}, {2}, {2}});
  auto optimizer = makeOptimizer(clipRule(), model.paramViews);
  model.grads[0].data = {12345, 0};
  model.grads[1].data = {3, 4};
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(model.params[0].data, std::vector<float>(2, 1));
  EXPECT_EQ(stepOf(*optimizer, 0), 0);
  EXPECT_EQ(stepOf(*optimizer, 1), 2);
  EXPECT_EQ(valueOf(*optimizer, 1, "sum"), 14);
  // The group continues without it, although its gradients were part of the norm.
  EXPECT_EQ(valueOf(*optimizer, 0, "largest"), 12345);
  upd_tensor state;
  EXPECT_EQ(optimizer->state(0, "sum", state).code(), UPD_NOT_FOUND);
  model.grads[0].data = {1, 1};
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(stepOf(*optimizer, 0), 1);
  EXPECT_EQ(valueOf(*optimizer, 0, "sum"), 2);
}

TEST(OptimizerReduction, ScalarStatesAreBoundSavedAndLoaded) {
  const updraft::harness::TemporaryFolder folder;
  const std::string path = folder.path() + "/state.safetensors";
  Model first({{3}, {2, 2}}), second({{3}, {2, 2}});
  auto source = makeOptimizer(clipRule(), first.paramViews);
  auto target = makeOptimizer(clipRule(), second.paramViews);
  ASSERT_EQ(first.step(*source), "ok");
  ASSERT_EQ(textOf(source->save(path)), "ok");
  ASSERT_EQ(textOf(target->load(path)), "ok");
  for (size_t i = 0; i < 2; ++i)
    for (const char *name : {"sum", "largest"})
      EXPECT_EQ(valueOf(*target, i, name), valueOf(*source, i, name));
  for (size_t i = 0; i < 2; ++i)
    second.params[i].data = first.params[i].data;
  ASSERT_EQ(first.step(*source), "ok");
  ASSERT_EQ(second.step(*target), "ok");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(second.params[i].data, first.params[i].data);
    EXPECT_EQ(valueOf(*target, i, "sum"), valueOf(*source, i, "sum"));
  }

  SafetensorsWriter writer;
  for (double i : {0, 1})
    writer.add("state/" + std::to_string(int(i)) + "/largest", SafetensorsType::F64, {},
               [i](SafetensorsSink &sink) { return sink.write(&i, sizeof(i)); });
  ASSERT_EQ(textOf(writer.save(path)), "ok");
  EXPECT_EQ(textOf(target->load(path)),
            "`" + path +
                "` does not fit the optimizer: `state/0/largest` and `state/1/largest` differ, but "
                "they are one state of a group");

  // A scalar is a tensor of rank 0. All parameters of a group share the group's scalar.
  double largest = 100;
  upd_tensor view{};
  view.data = &largest;
  view.dtype = UPD_F64;
  view.device = UPD_CPU;
  ASSERT_EQ(textOf(target->bindState(1, "largest", view)), "ok");
  EXPECT_EQ(valueOf(*target, 0, "largest"), 100);
  first.grads[0].data[0] = second.grads[0].data[0] = 500;
  ASSERT_EQ(second.step(*target), "ok");
  EXPECT_EQ(largest, 500);
  const int64_t one = 1;
  view.shape = &one;
  view.rank = 1;
  EXPECT_EQ(textOf(target->bindState(0, "largest", view)),
            "state `largest` of parameter `0` is [1], but the state is []; give a tensor of the "
            "same shape and strides");
}

TEST(OptimizerReduction, TellsPassesTheirSites) {
  Model model({{2}, {3}});
  auto optimizer = makeOptimizer(siteRule(), model.paramViews);
  EXPECT_EQ(optimizer->getSeed(), 0u);
  optimizer->setSeed(42);
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(model.params[1].data, std::vector<float>(3, 1142));
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(model.params[0].data, std::vector<float>(2, 2042));
  EXPECT_EQ(model.params[1].data, std::vector<float>(3, 2142));
  optimizer->setSeed(7);
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(model.params[1].data, std::vector<float>(3, 3107));
  const uint64_t numbers[] = {5, 3};
  ASSERT_EQ(textOf(optimizer->setParamNumbers(numbers, 2)), "ok");
  ASSERT_EQ(model.step(*optimizer), "ok");
  EXPECT_EQ(model.params[0].data, std::vector<float>(2, 4507));
  EXPECT_EQ(model.params[1].data, std::vector<float>(3, 4307));

  std::string path = (std::filesystem::temp_directory_path() / "updraft-XXXXXX").string();
  close(mkstemp(path.data()));
  ASSERT_EQ(textOf(optimizer->save(path)), "ok");
  optimizer->setSeed(1);
  ASSERT_EQ(textOf(optimizer->load(path)), "ok");
  EXPECT_EQ(optimizer->getSeed(), 7u);
  SafetensorsWriter writer;
  writer.setMetadata("updraft.seed", "-1");
  ASSERT_EQ(textOf(writer.save(path)), "ok");
  EXPECT_EQ(textOf(optimizer->load(path)),
            "`" + path +
                "` does not fit the optimizer: expected a seed from 0 to 2^64 - 1, got `-1`");
  std::filesystem::remove(path);
}
