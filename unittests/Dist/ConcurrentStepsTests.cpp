//===- ConcurrentStepsTests.cpp - Locks, applied contexts and steps together ------------------===//
// A worker's optimizers step contexts as in production, but without torch: gradients come from a
// shared container, and the step engine applies them directly.

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

/// The gradients of one context, by parameter; empty: no gradient.
using Context = std::vector<Tensor>;

/// The open contexts, by number.
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

/// A trainer's optimizer of two groups of the parameters that all trainers share.
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

  /// Whether this call has applied the context, which was applied `before` times.
  bool step(Container &container, int64_t number, int64_t before) {
    const std::shared_ptr<Context> context = container.find(number);
    if (!context)
      return false;
    std::vector<size_t> places;
    for (size_t i = 0; i < buckets.size(); ++i)
      if (!(*context)[i].data.empty())
        places.push_back(i);
    try {
      return Step(*this, number, context, before).run(locks, places) > 0;
    } catch (const Refusal &) {
      return false;
    }
  }

private:
  struct Refusal {};

  class Step : public dist::ContextStep {
  public:
    Step(Worker &worker, int64_t number, std::shared_ptr<Context> context, int64_t before)
        : ContextStep(worker.progress, number, context, before), buckets(worker.buckets),
          grads(*context) {}

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
    void abandon(size_t) override {} // the engine forgets it in the next preparation

    std::vector<std::unique_ptr<Optimizer>> &buckets;
    Context &grads; // kept by the step
  };

  dist::StepProgress progress;
  dist::StorageLocks locks;
  std::vector<std::unique_ptr<Optimizer>> buckets;
};

} // namespace

/// Several trainers, each with an optimizer, share parameters. One parameter is large enough for
/// threads of the pool. Several threads step every context, as after timeouts. Some contexts lack
/// the gradient of the small parameter, and some have one that is refused.
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
    if (number % 5 == 2 && number % 3 != 1) // refused because of its shape
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
          // The last thread closes the context.
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
