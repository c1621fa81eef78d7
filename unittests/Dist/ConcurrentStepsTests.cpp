//===- ConcurrentStepsTests.cpp - Locks, the applied table and steps together -----------------===//
// What a worker's optimizers do with a context, as they do it, but for torch: gradients come from a
// container that all share, and are applied by the step engine itself.

#include "FakeRules.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/dist/ContextStep.h"
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
using updraft::runtime::MemoryRange;
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
    std::vector<MemoryRange> ranges;
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
    try {
      return Step(*this, number, context, before).run(progress, locks, places) > 0;
    } catch (const Refusal &) {
      return false;
    }
  }

private:
  struct Refusal {};

  class Step : public dist::ContextStep {
  public:
    Step(Worker &worker, int64_t number, std::shared_ptr<Context> context, int64_t before)
        : ContextStep(number, context, before), buckets(worker.buckets), grads(*context) {}

  private:
    void takeHypers() override {
      for (const std::unique_ptr<Optimizer> &bucket : buckets)
        EXPECT_TRUE(bucket->setHyper(0, "lr", 1.0).ok());
    }
    size_t bucketCount() const override { return buckets.size(); }
    void prepare(size_t bucket) override {
      const upd_tensor view = grads[bucket].data.empty() ? absentGradient() : grads[bucket].view();
      if (!buckets[bucket]->prepare({.tensors = &view, .count = 1}).ok())
        throw Refusal();
    }
    void apply(size_t bucket) override { EXPECT_TRUE(buckets[bucket]->apply(nullptr).ok()); }
    void abandon(size_t) override {} // the engine forgets it when it prepares again

    std::vector<std::unique_ptr<Optimizer>> &buckets;
    Context &grads; // which the step keeps
  };

  dist::StepProgress progress;
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
