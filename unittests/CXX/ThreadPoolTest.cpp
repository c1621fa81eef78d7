//===- ThreadPoolTest.cpp - updraft/ThreadPool.h ----------------------------------------------===//

#include "PackedRule.h"

#include "updraft/Optimizer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace updraft;

namespace {

constexpr size_t size = 1 << 20; // enough work for several tasks

struct Counts {
  std::atomic<int> calls = 0, tasks = 0;
};

/// Runs each task on a new thread.
ThreadPool newThreads(Counts &counts) {
  return ThreadPool(4, [&counts](int32_t count, PoolTask task) {
    ++counts.calls;
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (int32_t i = 0; i < count; ++i)
      threads.emplace_back([=, &counts] {
        ++counts.tasks;
        task(i);
      });
    for (std::thread &thread : threads)
      thread.join();
  });
}

std::vector<float> stepped(Optimizer &optimizer, std::vector<float> &values) {
  const std::vector<float> grad(size, 0.25f);
  optimizer.step(TensorList{grad}).value();
  return values;
}

TEST(ThreadPool, RunsSteps) {
  const Rule rule = test::loadAdamW();
  Counts counts;
  std::vector<float> values(size, 1), expected(size, 1);
  Optimizer optimizer = Optimizer::create(rule, {ParamGroup{{values}}}, newThreads(counts)).value();
  Optimizer other = Optimizer::create(rule, {ParamGroup{{expected}}}).value();
  EXPECT_EQ(stepped(optimizer, values), stepped(other, expected));
  EXPECT_GE(counts.calls, 1);
  EXPECT_GT(counts.tasks, counts.calls) << "a step of one task tests nothing";
}

// The function lives as long as the last pool or optimizer that has it.
TEST(ThreadPool, FunctionIsKeptByOptimizers) {
  const Rule rule = test::loadAdamW();
  std::vector<float> values(size, 1), others(size, 1);
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watched = alive;
  {
    ThreadPool pool(2, [alive = std::move(alive)](int32_t count, PoolTask task) {
      for (int32_t i = 0; i < count; ++i)
        task(i);
    });
    Optimizer first = Optimizer::create(rule, {ParamGroup{{values}}}, pool).value();
    Optimizer second = Optimizer::create(rule, {ParamGroup{{others}}}, pool).value();
    {
      const ThreadPool last = std::move(pool);
    }
    first = std::move(second);
    EXPECT_FALSE(watched.expired());
    stepped(first, others);
    EXPECT_NE(others[0], 1);
  }
  EXPECT_TRUE(watched.expired());
}

} // namespace
