//===- OptimizerStepTests.cpp - Steps ---------------------------------------------------------===//

#include "FakeRules.h"
#include "runtime/cpu/ThreadPool.h"

#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace updraft::runtime;
using namespace updraft::runtime::test;

TEST(OptimizerStep, AppliesTheRule) {
  TestTensor<float> w({3}, 1), g({3}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  float buf = 2, expected = 1 - 0.1f * buf;
  EXPECT_EQ(w.data, std::vector<float>(3, expected));
  ASSERT_EQ(textOf(optimizer->setHyper(0, "lr", 0.5)), "ok");
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  buf = 0.5f * buf + 2;
  expected -= 0.5f * buf;
  EXPECT_EQ(w.data, std::vector<float>(3, expected));
  upd_tensor state;
  ASSERT_EQ(textOf(optimizer->state(0, "buf", state)), "ok");
  EXPECT_EQ(static_cast<float *>(state.data)[2], buf);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(state.data) % 64, 0u);
}

TEST(OptimizerStep, GroupsHaveTheirOwnHyperparameters) {
  TestTensor<float> a({2}, 1), b({2}, 1), g({2}, 1);
  const std::vector<upd_tensor> first = {a.view()}, second = {b.view()};
  const upd_hyper lr = {"lr", 0.5};
  std::vector<upd_group> groups = {groupOf(first), groupOf(second)};
  groups[1].hypers = &lr;
  groups[1].hyper_count = 1;
  std::unique_ptr<Optimizer> optimizer;
  ASSERT_EQ(textOf(CpuOptimizer::create(momentumRule(), groups.data(), 2, nullptr, optimizer)),
            "ok");
  const std::vector<upd_tensor> grads = {g.view(), g.view()};
  ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  EXPECT_EQ(a.data[0], 1 - 0.1f);
  EXPECT_EQ(b.data[0], 0.5f);
}

TEST(OptimizerStep, InitialValues) {
  // Large enough for several threads, and not a multiple of a leaf.
  ThreadPool pool(3);
  const upd_pool handle = pool.handle();
  TestTensor<float> w({100003}, 1), g({100003}, 1);
  auto optimizer = makeOptimizer(initialRule(), {w.view()}, &handle);
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  upd_tensor size, last;
  ASSERT_EQ(textOf(optimizer->state(0, "size", size)), "ok");
  ASSERT_EQ(textOf(optimizer->state(0, "last", last)), "ok");
  EXPECT_EQ(last.dtype, UPD_BF16);
  bool right = true;
  for (size_t i = 0; i < w.data.size(); ++i)
    right &= w.data[i] == 0.5f && static_cast<float *>(size.data)[i] == 0.5f &&
             static_cast<uint16_t *>(last.data)[i] == 0x4000;
  EXPECT_TRUE(right);
}

TEST(OptimizerStep, AbsentGradients) {
  TestTensor<float> a({2}, 1), b({2}, 1), g({2}, 1);
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view()});
  std::vector<upd_tensor> grads = {g.view(), absentGradient()};
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  EXPECT_EQ(b.data, std::vector<float>(2, 1));
  upd_tensor state;
  Status missing = optimizer->state(1, "buf", state);
  EXPECT_EQ(missing.code(), UPD_NOT_FOUND);
  EXPECT_EQ(missing.message(), "parameter `1` has no state yet; it gets it with its first step");
  grads = {absentGradient(), g.view()};
  ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  EXPECT_EQ(b.data, std::vector<float>(2, 1 - 0.1f)); // its own first step
  grads = {g.view(), g.view()};
  ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  int64_t steps[2];
  ASSERT_TRUE(optimizer->getStep(0, steps[0]).ok() && optimizer->getStep(1, steps[1]).ok());
  EXPECT_EQ(steps[0], 4);
  EXPECT_EQ(steps[1], 2);
  grads = {absentGradient(), absentGradient()};
  EXPECT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
}

TEST(OptimizerStep, FirstWithoutState) {
  TestTensor<double> w({5}), g({5});
  auto optimizer = makeOptimizer(countingRule(), {w.view()});
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  EXPECT_EQ(w.data, std::vector<double>(5, 1003));
}

TEST(OptimizerStep, SkippedStepsLeaveNothing) {
  TestTensor<float> a({2}), b({2}), g({2});
  const std::vector<upd_tensor> first = {a.view()}, second = {b.view()};
  const std::vector<upd_group> groups = {groupOf(first), groupOf(second)};
  std::unique_ptr<Optimizer> optimizer;
  ASSERT_EQ(textOf(CpuOptimizer::create(skippingRule(), groups.data(), 2, nullptr, optimizer)),
            "ok");
  const std::vector<upd_tensor> grads = {g.view(), g.view()};
  ASSERT_EQ(textOf(optimizer->setHyper(1, "stop", 1)), "ok");
  ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  upd_tensor state;
  EXPECT_EQ(optimizer->state(0, "n", state).code(), UPD_OK);
  EXPECT_EQ(optimizer->state(1, "n", state).code(), UPD_NOT_FOUND);
  ASSERT_EQ(textOf(optimizer->setHyper(1, "stop", 0)), "ok");
  ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  int64_t steps[2];
  ASSERT_TRUE(optimizer->getStep(0, steps[0]).ok() && optimizer->getStep(1, steps[1]).ok());
  EXPECT_EQ(steps[0], 2);
  EXPECT_EQ(steps[1], 1);
  ASSERT_EQ(textOf(optimizer->state(1, "n", state)), "ok");
  EXPECT_EQ(static_cast<float *>(state.data)[0], 1);
}

TEST(OptimizerStep, RefusesGradients) {
  TestTensor<float> a({4}, 1), b({4}, 1), ga({4}, 1), gb({4}, 1);
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view()});
  std::vector<upd_tensor> grads = {ga.view(), gb.view()};
  ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  const std::vector<float> before = a.data;

  auto refusal = [&](auto change, upd_status code = UPD_INVALID_ARGUMENT) {
    std::vector<upd_tensor> changed = grads;
    change(changed[1]);
    Status status = optimizer->step(changed.data(), 2);
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(a.data, before); // nothing was written, not even before the bad gradient
    // It isn't cached as valid either.
    EXPECT_EQ(optimizer->step(changed.data(), 2).message(), status.message());
    return status.message();
  };
  const int64_t three = 3, two = 2;
  const int64_t square[] = {2, 2};
  EXPECT_EQ(refusal([](upd_tensor &t) { t.dtype = UPD_BF16; }),
            "gradient of parameter `1` is bf16, but the rule is compiled for f32 gradients; "
            "convert it, or compile the rule with this storage type");
  EXPECT_EQ(refusal([](upd_tensor &t) { t.device = UPD_CUDA; }, UPD_UNSUPPORTED),
            "gradient of parameter `1` is on cuda:0, but the rule is compiled for the CPU; "
            "copy it there");
  EXPECT_EQ(refusal([&](upd_tensor &t) { t.shape = &three; }),
            "gradient of parameter `1` is [3], but the parameter is [4]; give a tensor of the same "
            "shape and strides");
  EXPECT_EQ(refusal([&](upd_tensor &t) { t.shape = square, t.rank = 2; }),
            "gradient of parameter `1` is [2, 2], but the parameter is [4]; give a tensor of the "
            "same shape and strides");
  EXPECT_EQ(refusal([&](upd_tensor &t) { t.strides = &two; }),
            "gradient of parameter `1` is [4] with strides [2], but the parameter has strides [1]; "
            "give a tensor of the same strides");
  EXPECT_EQ(refusal([](upd_tensor &t) { t.data = nullptr; }),
            "gradient of parameter `1` has 4 elements, but its data is null");
  EXPECT_EQ(refusal([](upd_tensor &t) { t.rank = -2; }),
            "gradient of parameter `1` is of rank -2, but the parameter is [4]; give a tensor of "
            "the same "
            "shape and strides");
  EXPECT_EQ(refusal([&](upd_tensor &t) { t.data = a.data.data(); }),
            "gradient of parameter `1` overlaps parameter `0`; a step only reads gradients, so "
            "give it memory of its own");
  upd_tensor state;
  ASSERT_EQ(textOf(optimizer->state(0, "buf", state)), "ok");
  EXPECT_EQ(refusal([&](upd_tensor &t) { t.data = state.data; }),
            "gradient of parameter `1` overlaps state `buf` of parameter `0`; a step only reads "
            "gradients, so give it memory of its own");
  EXPECT_EQ(textOf(optimizer->step(grads.data(), 1)),
            "there is 1 gradient for 2 parameters; an absent one has the rank UPD_ABSENT");
  EXPECT_EQ(textOf(optimizer->step(grads.data(), 0)),
            "there are 0 gradients for 2 parameters; an absent one has the rank UPD_ABSENT");
  EXPECT_EQ(textOf(optimizer->step(nullptr, 2)), "grads is null, but grad_count is 2");
  // Two parameters may have the same gradient.
  grads[1] = grads[0];
  EXPECT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
}

TEST(OptimizerStep, SaysBothStrides) {
  TestTensor<float> w({2, 3}, 1), g({2, 3}, 1);
  w.strides = {1, 2};
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  upd_tensor grad = g.view();
  EXPECT_EQ(textOf(optimizer->step(&grad, 1)),
            "gradient of parameter `0` is [2, 3], row-major, but the parameter has strides [1, 2]; "
            "give a tensor of the same strides");
  g.strides = {3, 1};
  grad = g.view();
  EXPECT_EQ(textOf(optimizer->step(&grad, 1)),
            "gradient of parameter `0` is [2, 3] with strides [3, 1], but the parameter has "
            "strides [1, 2]; give a tensor of the same strides");
}

TEST(OptimizerStep, SeesShapesThatChangeInPlace) {
  TestTensor<float> w({4}, 1), g({4}, 1);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  g.shape[0] = 2;
  EXPECT_EQ(textOf(optimizer->step(&grad, 1)),
            "gradient of parameter `0` is [2], but the parameter is [4]; give a tensor of the same "
            "shape and strides");
}

TEST(OptimizerStep, SameBitsForAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::vector<int64_t> sizes = {0, 1, 8192, 8193, 100003, 17, 40000};
  for (int i = 0; i < 60; ++i)
    sizes.push_back(static_cast<int64_t>(random() % 3000));
  std::vector<TestTensor<float>> grads;
  for (int64_t size : sizes) {
    grads.emplace_back(std::vector<int64_t>{size});
    for (float &value : grads.back().data)
      value = static_cast<float>(random() % 1000) / 999;
  }
  std::vector<std::vector<float>> expected;
  for (int32_t threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    const upd_pool handle = pool.handle();
    std::vector<TestTensor<float>> params;
    std::vector<upd_tensor> paramViews, gradViews;
    for (size_t i = 0; i < sizes.size(); ++i) {
      params.emplace_back(std::vector<int64_t>{sizes[i]}, 1.0f);
      gradViews.push_back(grads[i].view());
    }
    for (TestTensor<float> &param : params)
      paramViews.push_back(param.view());
    auto optimizer = makeOptimizer(momentumRule(), paramViews, &handle);
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(textOf(optimizer->step(gradViews.data(), gradViews.size())), "ok");
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (threads == 1)
        expected.push_back(params[i].data);
      else
        EXPECT_EQ(params[i].data, expected[i]) << threads << " threads, tensor " << i;
    }
  }
}

TEST(OptimizerStep, RunsOverEveryElementOnce) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(1 + static_cast<int32_t>(random() % 5));
    const upd_pool handle = pool.handle();
    std::vector<TestTensor<double>> params, grads;
    std::vector<upd_tensor> paramViews, gradViews;
    const size_t count = 1 + random() % 20;
    for (size_t i = 0; i < count; ++i) {
      const auto size = static_cast<int64_t>(random() % (random() % 4 == 0 ? 60000 : 50));
      params.emplace_back(std::vector<int64_t>{size});
      grads.emplace_back(std::vector<int64_t>{size});
    }
    for (size_t i = 0; i < count; ++i) {
      paramViews.push_back(params[i].view());
      gradViews.push_back(random() % 5 == 0 ? absentGradient() : grads[i].view());
    }
    auto optimizer = makeOptimizer(countingRule(), paramViews, &handle);
    ASSERT_EQ(textOf(optimizer->step(gradViews.data(), count)), "ok");
    for (size_t i = 0; i < count; ++i) {
      const double expected = gradViews[i].rank == -1 ? 0 : 1001.5;
      EXPECT_EQ(params[i].data, std::vector<double>(params[i].data.size(), expected));
    }
  }
}

TEST(OptimizerStep, TwoOptimizersShareThePool) {
  auto train = [](std::vector<float> &result) {
    TestTensor<float> w({50000}, 1), g({50000}, 1);
    auto optimizer = makeOptimizer(momentumRule(), {w.view()});
    const upd_tensor grad = g.view();
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
    result = w.data;
  };
  std::vector<float> alone, first, second;
  train(alone);
  std::thread a([&] { train(first); }), b([&] { train(second); });
  a.join();
  b.join();
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, alone);
}

TEST(OptimizerStep, WorksInTheChildOfAFork) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer allows no new threads after a fork";
#endif
#endif
  TestTensor<float> w({50000}, 1), g({50000}, 1);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const bool ok = optimizer->step(&grad, 1).ok();
    _exit(ok && w.data[49999] == w.data[0] && w.data[0] < 0.8f ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#if defined(__x86_64__)
TEST(OptimizerStep, KeepsDenormalsForAnyModeOfTheHost) {
  constexpr unsigned flushAndTruncate = 0x1f80 | 0x8040 | 0x6000;
  ThreadPool pool(2);
  const upd_pool handle = pool.handle();
  for (int64_t size : {int64_t(5), int64_t(100000)}) {
    TestTensor<float> w({size}, 0), g({size}, 3e-39f);
    auto optimizer = makeOptimizer(momentumRule(), {w.view()}, &handle);
    ASSERT_EQ(textOf(optimizer->setHyper(0, "lr", 0.3)), "ok");
    const upd_tensor grad = g.view();
    const float expected = 0 - 0.3f * 3e-39f;
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(flushAndTruncate);
    Status status = optimizer->step(&grad, 1);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_EQ(textOf(status), "ok");
    EXPECT_EQ(after & ~0x3fu, flushAndTruncate);
    EXPECT_EQ(w.data, std::vector<float>(static_cast<size_t>(size), expected));
    EXPECT_NE(expected, 0);
  }
}
#endif
