//===- ConcurrentStepsTests.cpp - Locks, the applied table and steps together -----------------===//
// What a worker's optimizers do with a context, without torch: gradients from a container that all
// share, a table under the optimizer's lock, the locks of memory, and the two halves of a step.

#include "FakeRules.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/dist/AppliedContexts.h"
#include "runtime/dist/LockWait.h"
#include "runtime/dist/NumberedObjects.h"
#include "runtime/dist/StorageLocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace updraft;
using namespace updraft::runtime::test;
using updraft::runtime::Optimizer;

namespace {

using Tensor = TestTensor<float>;

/// The gradients of one context by the places of parameters; empty: there is none.
using Context = std::vector<Tensor>;

/// The contexts that are open, by number.
class Container {
public:
  void open(int64_t number, Context context) {
    std::lock_guard guard(mutex);
    contexts[number] = std::make_shared<Context>(std::move(context));
  }
  std::shared_ptr<Context> find(int64_t number) {
    std::lock_guard guard(mutex);
    auto found = contexts.find(number);
    return found == contexts.end() ? nullptr : found->second;
  }
  void close(int64_t number) {
    std::shared_ptr<Context> last;
    std::lock_guard guard(mutex);
    last = std::exchange(contexts[number], nullptr);
    contexts.erase(number);
  }

private:
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<Context>> contexts;
};

/// The optimizer of one trainer, of two groups of the parameters that all trainers share.
class Worker {
public:
  Worker(std::vector<Tensor> &params, const upd_pool &pool) {
    std::vector<dist::MemoryRange> ranges;
    for (Tensor &param : params) {
      ranges.emplace_back(param.data.data(), param.data.size() * sizeof(float));
      buckets.push_back(makeOptimizer(momentumRule(), {param.view()}, &pool));
      for (const auto &[name, value] : {std::pair("lr", 1.0), std::pair("momentum", 0.0)})
        EXPECT_TRUE(buckets.back()->setHyper(0, name, value).ok());
    }
    locks = dist::StorageLocks(ranges);
  }

  /// Whether this has applied the context, which was applied `before` times.
  bool step(Container &container, int64_t number, int64_t before) {
    const std::shared_ptr<Context> context = container.find(number);
    if (!context)
      return false;
    std::vector<size_t> places;
    for (size_t i = 0; i < buckets.size(); ++i)
      if (!(*context)[i].data.empty())
        places.push_back(i);
    dist::lockCounted(mutex);
    const std::lock_guard guard(mutex, std::adopt_lock);
    if (applied.count(number, context) > before || places.empty())
      return false;
    const dist::StorageLocks::Guard exclusive(locks, places);
    for (size_t i = 0; i < buckets.size(); ++i) {
      Tensor &grad = (*context)[i];
      const upd_tensor view = grad.data.empty() ? absentGradient() : grad.view();
      // Nothing is written of either if one is refused.
      if (!buckets[i]->prepareRows(&view, 1, nullptr, 0).ok())
        return false;
    }
    applied.set(number, context, before + 1);
    for (const std::unique_ptr<Optimizer> &bucket : buckets)
      EXPECT_TRUE(bucket->apply().ok());
    return true;
  }

private:
  std::mutex mutex;
  dist::AppliedContexts applied;
  dist::StorageLocks locks;
  std::vector<std::unique_ptr<Optimizer>> buckets;
};

} // namespace

/// Trainers with an optimizer each share parameters, one of them large enough for threads of the
/// pool; every context is stepped by several threads, as after timeouts. Some contexts have no
/// gradient of the small parameter, and some one that is refused.
TEST(ConcurrentSteps, EveryContextCountsOnce) {
  constexpr int64_t trainers = 3, threadsPerTrainer = 4, contextsPerTrainer = 40;
  runtime::ThreadPool pool(3);
  const upd_pool handle = pool.handle();
  std::vector<Tensor> params;
  params.emplace_back(std::vector<int64_t>{40000});
  params.emplace_back(std::vector<int64_t>{7});
  Container container;
  dist::NumberedObjects<Worker> workers;
  for (int64_t trainer = 0; trainer < trainers; ++trainer)
    workers.add(trainer, [&] { return std::make_shared<Worker>(params, handle); });

  std::vector<int64_t> expected(params.size());
  for (int64_t number = 0; number < trainers * contextsPerTrainer; ++number) {
    Context context;
    for (const Tensor &param : params)
      context.emplace_back(param.shape, 1.0f);
    if (number % 3 == 1)
      context[1] = Tensor({0});
    if (number % 5 == 2 && number % 3 != 1) // refused: of another shape
      context[1] = Tensor({8}, 1.0f);
    else
      for (size_t i = 0; i < params.size(); ++i)
        expected[i] += context[i].data.empty() ? 0 : 1;
    container.open(number, std::move(context));
  }

  std::vector<std::atomic<int>> appliedBy(trainers * contextsPerTrainer);
  std::vector<std::atomic<int>> tried(trainers * contextsPerTrainer);
  std::vector<std::thread> threads;
  for (int64_t trainer = 0; trainer < trainers; ++trainer)
    for (int64_t thread = 0; thread < threadsPerTrainer; ++thread)
      threads.emplace_back([&, trainer, thread] {
        for (int64_t i = 0; i < contextsPerTrainer; ++i) {
          const int64_t number =
              trainer * contextsPerTrainer + (i + thread * 7) % contextsPerTrainer;
          appliedBy[static_cast<size_t>(number)] +=
              workers.get(trainer)->step(container, number, 0);
          // The last of them closes it.
          if (++tried[static_cast<size_t>(number)] == threadsPerTrainer)
            container.close(number);
        }
      });
  for (std::thread &thread : threads)
    thread.join();

  int64_t applied = 0;
  for (const std::atomic<int> &times : appliedBy) {
    EXPECT_LE(times, 1);
    applied += times;
  }
  EXPECT_EQ(applied, expected[0]);
  for (size_t i = 0; i < params.size(); ++i)
    EXPECT_EQ(params[i].data,
              std::vector<float>(params[i].data.size(), -static_cast<float>(expected[i])))
        << "parameter " << i;
}
